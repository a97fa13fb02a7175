package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/jpeg"
	"image/png"
)

// Values of Picture.Format.
const (
	formatPNG  = "png"
	formatJPEG = "jpg"
)

const (
	maxLength = 100_000  // maximum length of a side in pixels
	maxMemory = 92 << 20 // maximum number of bytes that decoding may allocate for pixels
)

// header describes a picture that is not decoded yet.
type header struct {
	format        string
	width, height int
	memory        int // upper bound of the bytes that decoding allocates for pixels
	orientation   int // EXIF orientation, 1 to 8

	// For a JPEG: whether jpegn decodes it, by what number jpegn divides its sides, and the bytes that jpegn reads.
	isCommon  bool
	reducedBy int
	content   [][]byte
}

// readHeader checks a file without allocating memory for its pixels. maxSide is the longest side to which the picture will be
// scaled.
func readHeader(file []byte, maxSide int) (header, error) {
	var h header
	var err error
	switch {
	case bytes.HasPrefix(file, []byte("\x89PNG\r\n\x1a\n")):
		h, err = readPNGHeader(file, maxSide)
	case bytes.HasPrefix(file, []byte("\xff\xd8")):
		h, err = readJPEGHeader(file, maxSide)
	default:
		err = ErrFormat
	}
	switch {
	case err != nil:
		return header{}, err
	case h.width <= 0 || h.height <= 0:
		return header{}, ErrFormat
	case max(h.width, h.height) > maxLength, h.width*h.height > MaxPixels, h.memory > maxMemory:
		return header{}, ErrTooManyPixels
	}
	return h, nil
}

// Offsets in a PNG whose first chunk is IHDR.
const (
	pngSignature  = 8
	pngChunkType  = 12
	pngDepth      = 24
	pngColorType  = 25
	pngInterlace  = 28
	pngFirstChunk = 33 // the chunk after IHDR
)

// Numbers of bytes before and after the content of each chunk of a PNG.
const (
	chunkHead = 8 // length and type
	chunkTail = 4 // checksum
)

// maxChunks is the maximum number of chunks in a PNG. Encoders write data in chunks of 8 KiB or more, so an uploaded file of at
// most 5 MiB has about 640 chunks.
const maxChunks = 4096

func readPNGHeader(file []byte, maxSide int) (header, error) {
	// package image/png tolerates other chunks before IHDR, and any number of chunks; this package does not.
	if len(file) < pngFirstChunk || !bytes.HasPrefix(file[pngChunkType:], []byte("IHDR")) || !hasFewChunks(file) {
		return header{}, ErrFormat
	}
	config, err := png.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return header{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	h := header{format: formatPNG, width: config.Width, height: config.Height, orientation: upright}
	if max(h.width, h.height) > maxSide {
		return h, nil // the PNG is scaled row by row, so the memory for its pixels is small
	}
	// The memory can't be derived from config.ColorModel: a gray PNG with a transparent color is decoded into four channels.
	bytesPerPixel := 4
	switch {
	case file[pngColorType] == paletted:
		bytesPerPixel = 1
	case file[pngDepth] == 16:
		bytesPerPixel = 8
	}
	h.memory = h.width * h.height * bytesPerPixel
	if file[pngInterlace] != 0 {
		h.memory *= 2 // the decoder also allocates a picture for each pass; together these pictures have as many pixels as the whole picture
	}
	return h, nil
}

// hasFewChunks tells whether a PNG has at most maxChunks chunks. Chunks after IEND don't count.
func hasFewChunks(file []byte) bool {
	rest := file[pngSignature:]
	for range maxChunks {
		if len(rest) < chunkHead || string(rest[4:chunkHead]) == "IEND" {
			return true
		}
		rest = rest[min(uint64(len(rest)), chunkHead+uint64(binary.BigEndian.Uint32(rest))+chunkTail):]
	}
	return false
}

func readJPEGHeader(file []byte, maxSide int) (header, error) {
	s, ok := readJPEGSegments(file)
	if !ok {
		return header{}, ErrFormat
	}
	config, err := jpeg.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return header{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if s.width != config.Width || s.height != config.Height || s.width == 0 || s.height == 0 || s.scans > s.maxScans() {
		return header{}, ErrFormat
	}
	h := header{format: formatJPEG, width: s.width, height: s.height, orientation: readOrientation(s.exif), isCommon: s.isCommon(), reducedBy: 1}
	if h.isCommon {
		h.content, h.reducedBy = s.forJPEGN(), reduction(h.width, h.height, maxSide)
	}
	h.memory = s.memory(h.reducedBy)
	return h, nil
}

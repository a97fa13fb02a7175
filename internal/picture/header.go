package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/jpeg"
	"image/png"
)

// Formats of a Picture.
const (
	formatPNG  = "png"
	formatJPEG = "jpg"
)

const (
	maxLength = 100_000  // of a side in pixels
	maxMemory = 92 << 20 // that decoding allocates for pixels
)

// header describes a picture that is not decoded yet.
type header struct {
	format        string
	width, height int
	memory        int // upper bound of the bytes that decoding allocates for pixels
	orientation   int // EXIF orientation, 1 to 8

	// Of a JPEG: whether jpegn decodes it, by how much jpegn reduces its sides, and the bytes that jpegn reads.
	isCommon  bool
	reducedBy int
	content   [][]byte
}

// readHeader checks a file without allocating memory for its pixels. The file will be scaled to sides of at most
// maxSide.
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

// Positions in a PNG whose first chunk is IHDR.
const (
	pngSignature  = 8
	pngChunkType  = 12
	pngDepth      = 24
	pngColourType = 25
	pngInterlace  = 28
	pngFirstChunk = 33 // after IHDR
)

// Bytes around the content of a PNG's chunk.
const (
	chunkHead = 8 // length and type
	chunkTail = 4 // checksum
)

// maxChunks is how many chunks a PNG may have. Encoders write data in chunks of 8 KiB or more, so 5 MiB have at most
// 640 chunks.
const maxChunks = 4096

func readPNGHeader(file []byte, maxSide int) (header, error) {
	// The decoder tolerates other chunks before IHDR, and any number of them.
	if len(file) < pngFirstChunk || !bytes.HasPrefix(file[pngChunkType:], []byte("IHDR")) || !hasFewChunks(file) {
		return header{}, ErrFormat
	}
	config, err := png.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return header{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	h := header{format: formatPNG, width: config.Width, height: config.Height, orientation: upright}
	if max(h.width, h.height) > maxSide {
		return h, nil // scaled row by row
	}
	// The colour model is not enough: grey with a transparent colour is decoded into four channels.
	bytesPerPixel := 4
	switch {
	case file[pngColourType] == paletted:
		bytesPerPixel = 1
	case file[pngDepth] == 16:
		bytesPerPixel = 8
	}
	h.memory = h.width * h.height * bytesPerPixel
	if file[pngInterlace] != 0 {
		h.memory *= 2 // the pictures of the passes have as many pixels as the whole
	}
	return h, nil
}

// hasFewChunks tells whether a PNG has at most maxChunks chunks. Those after IEND don't count.
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

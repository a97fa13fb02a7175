package picture

import (
	"bytes"
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
}

// readHeader judges a file without allocating its pixels.
func readHeader(file []byte) (header, error) {
	var h header
	var err error
	switch {
	case bytes.HasPrefix(file, []byte("\x89PNG\r\n\x1a\n")):
		h, err = readPNGHeader(file)
	case bytes.HasPrefix(file, []byte("\xff\xd8")):
		h, err = readJPEGHeader(file)
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
	pngChunkType  = 12
	pngDepth      = 24
	pngColourType = 25
	pngInterlace  = 28
)

const palettedPNG = 3 // colour type

func readPNGHeader(file []byte) (header, error) {
	config, err := png.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return header{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if !bytes.HasPrefix(file[pngChunkType:], []byte("IHDR")) { // the decoder tolerates other chunks before it
		return header{}, ErrFormat
	}
	// The colour model is not enough: grey with a transparent colour is decoded into four channels.
	bytesPerPixel := 4
	switch {
	case file[pngColourType] == palettedPNG:
		bytesPerPixel = 1
	case file[pngDepth] == 16:
		bytesPerPixel = 8
	}
	memory := config.Width * config.Height * bytesPerPixel
	if file[pngInterlace] != 0 {
		memory *= 2 // the pictures of the passes have as many pixels as the whole
	}
	return header{format: formatPNG, width: config.Width, height: config.Height, memory: memory, orientation: upright}, nil
}

func readJPEGHeader(file []byte) (header, error) {
	config, err := jpeg.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return header{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	s, ok := readJPEGSegments(file)
	if !ok || s.width != config.Width || s.height != config.Height || s.scans > maxScans {
		return header{}, ErrFormat
	}
	return header{
		format: formatJPEG, width: s.width, height: s.height,
		memory: s.memory(), orientation: readOrientation(s.exif),
	}, nil
}

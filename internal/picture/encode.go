package picture

import (
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"io"

	"mizan/internal/assert"
)

// encode encodes a picture so that it fits maxBytes, and overwrites the given one.
func encode(img image.Image, format string, maxBytes int) Picture {
	if format == formatPNG {
		forgetHidden(img)
		transparent := !isOpaque(img)
		content, fits := encodePNG(img, maxBytes)
		for !fits && transparent {
			img = shrink(img)
			content, fits = encodePNG(img, maxBytes)
		}
		if fits {
			return newPicture(formatPNG, img, content)
		}
	}
	return encodeAsJPEG(img, maxBytes)
}

// encodeAsJPEG lowers the quality, and then the size.
func encodeAsJPEG(img image.Image, maxBytes int) Picture {
	switch img.(type) {
	case *image.Paletted, *image.NRGBA:
		img = toRGBA(img) // the encoder is slow with others
	}
	const lowest = 60
	for _, quality := range []int{85, 75, lowest} {
		if content, fits := encodeJPEG(img, quality, maxBytes); fits {
			return newPicture(formatJPEG, img, content)
		}
	}
	for {
		img = shrink(img)
		if content, fits := encodeJPEG(img, lowest, maxBytes); fits {
			return newPicture(formatJPEG, img, content)
		}
	}
}

func newPicture(format string, img image.Image, content []byte) Picture {
	size := img.Bounds().Size()
	return Picture{Format: format, Width: size.X, Height: size.Y, Content: content}
}

// shrink returns the picture with four fifths of its sides.
func shrink(img image.Image) image.Image {
	size := img.Bounds().Size()
	assert.That(size.X > 1 || size.Y > 1, "a picture of one pixel does not fit")
	return scale(img, max(1, size.X*4/5), max(1, size.Y*4/5))
}

// isOpaque tells whether a picture has no transparent pixel.
func isOpaque(img image.Image) bool {
	return img.(interface{ Opaque() bool }).Opaque()
}

func encodePNG(img image.Image, maxBytes int) (content []byte, fits bool) {
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	return encodeWithin(maxBytes, func(w io.Writer) error { return encoder.Encode(w, img) })
}

func encodeJPEG(img image.Image, quality, maxBytes int) (content []byte, fits bool) {
	return encodeWithin(maxBytes, func(w io.Writer) error { return jpeg.Encode(w, img, &jpeg.Options{Quality: quality}) })
}

// encodeWithin returns what encodeInto writes if that fits.
func encodeWithin(maxBytes int, encodeInto func(io.Writer) error) (content []byte, fits bool) {
	w := &boundedWriter{limit: maxBytes}
	err := encodeInto(w)
	if errors.Is(err, errTooLong) {
		return nil, false
	}
	assert.NoError(err)
	return w.content, true
}

var errTooLong = errors.New("picture: the encoding is too long")

// boundedWriter keeps what is written up to a limit. An encoder stops at its error, so what is too
// long is soon given up.
type boundedWriter struct {
	content []byte
	limit   int
}

func (w *boundedWriter) Write(p []byte) (int, error) {
	if len(w.content)+len(p) > w.limit {
		return 0, errTooLong
	}
	w.content = append(w.content, p...)
	return len(p), nil
}

package picture

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"io"
	"math"
	"sync"

	"github.com/gen2brain/jpegn"

	"mizan/internal/assert"
)

// encode encodes the picture so that its content has at most maxBytes bytes. It also returns the encoded pixels. To fit into
// maxBytes, the encoded picture may have shorter sides than img. encode may overwrite the pixels of img.
func encode(img image.Image, format string, maxBytes int) (Picture, image.Image) {
	if format == formatPNG {
		clearHiddenColors(img)
		if p, encoded, fits := encodeAsPNG(img, maxBytes); fits {
			return p, encoded
		}
	}
	return encodeAsJPEG(img, maxBytes)
}

// encodeAsPNG encodes the picture as PNG. If the picture has transparent pixels, encodeAsPNG makes the picture smaller until
// its content has at most maxBytes bytes. If an opaque picture does not fit, fits is false, and the caller encodes it as
// JPEG.
func encodeAsPNG(img image.Image, maxBytes int) (p Picture, encoded image.Image, fits bool) {
	transparent, most, size := !isOpaque(img), maxBytes, img.Bounds().Size()
	if !transparent {
		most += maxBytes / 4 // estimates are not exact, so the encoding is tried even if the estimate is a little too high
	}
	for {
		estimate := estimatePNG(img)
		if estimate <= most {
			if content, fits := encodePNG(img, maxBytes); fits {
				return newPicture(formatPNG, img, content), img, true
			}
		}
		if !transparent {
			return Picture{}, nil, false
		}
		factor := lessAtOnce
		if estimate > maxBytes {
			factor = max(leastAtOnce, min(mostAtOnce, math.Sqrt(float64(maxBytes)/float64(estimate))))
		}
		img = shrink(img, factor, size)
	}
}

// Factors by which the sides of a picture are multiplied if its encoding was too long.
const (
	lessAtOnce  = 0.8
	leastAtOnce = 0.5
	mostAtOnce  = 0.95
)

// encodeAsJPEG encodes a picture as JPEG. If the content is too long, encodeAsJPEG first lowers the quality. Then it shortens
// the sides until the content fits.
func encodeAsJPEG(img image.Image, maxBytes int) (Picture, image.Image) {
	if _, isPaletted := img.(*image.Paletted); isPaletted {
		img = toRGBA(img) // the JPEG encoder is slow with paletted pictures
	}
	const lowest = 60
	for _, quality := range []int{85, 75, lowest} {
		if content, fits := encodeJPEG(img, quality, maxBytes); fits {
			return newPicture(formatJPEG, img, content), img
		}
	}
	for size := img.Bounds().Size(); ; {
		img = shrink(img, lessAtOnce, size)
		if content, fits := encodeJPEG(img, lowest, maxBytes); fits {
			return newPicture(formatJPEG, img, content), img
		}
	}
}

func newPicture(format string, img image.Image, content []byte) Picture {
	size := img.Bounds().Size()
	return Picture{Format: format, Width: size.X, Height: size.Y, Content: content}
}

// shrink returns the picture with its longer side multiplied by factor. The new sides have the ratio ratio.X : ratio.Y, which
// is the ratio of the original picture, so that rounding errors do not add up over several calls. shrink may overwrite img.
func shrink(img image.Image, factor float64, ratio image.Point) image.Image {
	longer := max(img.Bounds().Dx(), img.Bounds().Dy())
	assert.That(longer > 1, "a picture of one pixel does not fit")
	width, height := fit(ratio.X, ratio.Y, int(float64(longer)*factor))
	return scale(img, width, height)
}

// An estimate encodes only a sample of the picture: one of sampleEvery rows. The sample consists of sampleBands bands of
// adjacent rows, at equal distances.
const (
	sampleEvery = 8
	sampleBands = 16
	leastPixels = 500_000 // a picture with fewer pixels is encoded without an estimate
)

// estimatePNG estimates how many bytes the picture takes as PNG. For a small picture, whose encoding is not worth an estimate,
// it returns zero.
func estimatePNG(img image.Image) int {
	size := img.Bounds().Size()
	height := size.Y / (sampleEvery * sampleBands) // height of a band
	if size.X*size.Y < leastPixels || height == 0 {
		return 0
	}
	sample := func(pix []byte, stride int) (bands []byte) {
		for band := range sampleBands {
			bands = append(bands, pix[band*size.Y/sampleBands*stride:][:height*stride]...)
		}
		return bands
	}
	rect := image.Rect(0, 0, size.X, height*sampleBands)
	switch m := img.(type) {
	case *image.Gray:
		img = &image.Gray{Pix: sample(m.Pix, m.Stride), Stride: m.Stride, Rect: rect}
	case *image.Paletted:
		img = &image.Paletted{Pix: sample(m.Pix, m.Stride), Stride: m.Stride, Rect: rect, Palette: m.Palette}
	case *image.RGBA:
		img = &image.RGBA{Pix: sample(m.Pix, m.Stride), Stride: m.Stride, Rect: rect}
	case *image.NRGBA:
		img = &image.NRGBA{Pix: sample(m.Pix, m.Stride), Stride: m.Stride, Rect: rect}
	default:
		return 0
	}
	content, _ := encodePNG(img, math.MaxInt)
	return len(content) * size.Y / rect.Dy()
}

// isOpaque tells whether a picture has no transparent pixel.
func isOpaque(img image.Image) bool {
	return img.(interface{ Opaque() bool }).Opaque()
}

// bufferPool keeps the memory of PNG encoders (about 1 MB each) for later encodings, because one picture may be encoded a dozen
// times.
type bufferPool struct{ pool sync.Pool }

var encoderBuffers bufferPool

// Get implements png.EncoderBufferPool.
func (p *bufferPool) Get() *png.EncoderBuffer {
	b, _ := p.pool.Get().(*png.EncoderBuffer)
	return b
}

// Put implements png.EncoderBufferPool.
func (p *bufferPool) Put(b *png.EncoderBuffer) { p.pool.Put(b) }

func encodePNG(img image.Image, maxBytes int) (content []byte, fits bool) {
	encoder := png.Encoder{CompressionLevel: png.BestSpeed, BufferPool: &encoderBuffers}
	return encodeWithin(maxBytes, func(w io.Writer) error { return encoder.Encode(w, img) })
}

func encodeJPEG(img image.Image, quality, maxBytes int) (content []byte, fits bool) {
	var w bytes.Buffer
	assert.NoError(jpegn.Encode(&w, img, &jpegn.EncodeOptions{Quality: quality}))
	// Remove the JFIF segment that jpegn writes, because readers of a JPEG do not need it.
	const head, jfifLength = 2, 18
	content = w.Bytes()[jfifLength:]
	copy(content, w.Bytes()[:head])
	return content, len(content) <= maxBytes
}

// encodeWithin returns the content that encodeInto writes. If this content has more than maxBytes bytes, fits is false.
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

// boundedWriter keeps the written bytes, up to a limit. Beyond the limit, Write returns errTooLong, so that an encoder stops
// early.
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

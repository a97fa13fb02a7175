package picture

import (
	"bytes"
	"fmt"
	"image"
	"io"
	"slices"

	"github.com/gen2brain/jpegn"
)

// isCommon tells whether the JPEG is decoded by package jpegn: if it is gray, YCbCr in a usual sampling, or RGB. All other
// JPEGs are decoded by package image/jpeg, because jpegn would first have to scale their planes to one size.
func (s *jpegSegments) isCommon() bool {
	c := s.components
	if len(c) == 1 {
		return true
	}
	if len(c) != 3 || c[1].horizontal*c[1].vertical*c[2].horizontal*c[2].vertical != 1 {
		return false
	}
	if s.isRGB() {
		return c[0].horizontal*c[0].vertical == 1
	}
	return c[0].vertical <= 2 && !s.hasNamesOfRGB() // jpegn mistakes components with the ids R, G and B for RGB
}

// adobeRGB is an Adobe segment (APP14) that makes jpegn decode three components as RGB.
var adobeRGB = []byte("\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00")

// forJPEGN returns the JPEG for jpegn, cut into parts. The metadata is removed. If the JPEG is RGB, the segment adobeRGB is
// added.
func (s *jpegSegments) forJPEGN() [][]byte {
	if len(s.components) == 3 && s.isRGB() {
		const start = 2 // offset of the first segment
		return slices.Concat([][]byte{s.rest[0][:start], adobeRGB, s.rest[0][start:]}, s.rest[1:])
	}
	return s.rest
}

// reduction returns the number (1, 2, 4 or 8) by which the sides of a JPEG are divided while the JPEG is decoded. It is the
// largest number that does not make the sides shorter than the sides of the result.
func reduction(width, height, maxSide int) int {
	toWidth, toHeight := fit(width, height, maxSide)
	by := 8
	for by > 1 && ((width+by-1)/by < toWidth || (height+by-1)/by < toHeight) {
		by /= 2
	}
	return by
}

// decodeReduced decodes a JPEG with jpegn, which divides the sides by h.reducedBy.
func decodeReduced(h header) (img image.Image, err error) {
	defer func() {
		if fault := recover(); fault != nil { // jpegn may panic, because it indexes tables with values from the file
			img, err = nil, fmt.Errorf("%w: %v", ErrFormat, fault)
		}
	}()
	by := h.reducedBy
	img, err = jpegn.Decode(concatenate(h.content), &jpegn.Options{ScaleDenom: by})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if size := img.Bounds().Size(); size != (image.Point{(h.width + by - 1) / by, (h.height + by - 1) / by}) {
		return nil, fmt.Errorf("%w: decoded as %v", ErrFormat, size)
	}
	switch img.(type) {
	case *image.Gray, *image.YCbCr, *image.RGBA:
		return img, nil
	}
	return nil, fmt.Errorf("%w: decoded as %T", ErrFormat, img)
}

// sizedReader is a reader with a method Len, which tells jpegn how much memory to allocate for the content.
type sizedReader struct {
	io.Reader
	size int
}

// Len returns the size of the content in bytes.
func (s sizedReader) Len() int { return s.size }

// concatenate returns a reader that reads the parts one after the other.
func concatenate(parts [][]byte) io.Reader {
	readers, size := make([]io.Reader, len(parts)), 0
	for i, part := range parts {
		readers[i], size = bytes.NewReader(part), size+len(part)
	}
	return sizedReader{io.MultiReader(readers...), size}
}

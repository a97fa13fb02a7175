package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
)

// decode returns the pixels of a file as Gray, Paletted, RGBA, NRGBA or YCbCr. Other forms are
// converted where they are in memory.
func decode(format string, file []byte) (image.Image, error) {
	decodeFormat := png.Decode
	if format == formatJPEG {
		decodeFormat = jpeg.Decode
	}
	img, err := decodeFormat(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	switch m := img.(type) {
	case *image.Gray16:
		return &image.Gray{Pix: dropLowBytes(m.Pix), Stride: m.Stride / 2, Rect: m.Rect}, nil
	case *image.RGBA64:
		return &image.RGBA{Pix: dropLowBytes(m.Pix), Stride: m.Stride / 2, Rect: m.Rect}, nil
	case *image.NRGBA64:
		return &image.NRGBA{Pix: dropLowBytes(m.Pix), Stride: m.Stride / 2, Rect: m.Rect}, nil
	case *image.CMYK:
		for p := m.Pix; len(p) >= 4; p = p[4:] {
			p[0], p[1], p[2] = color.CMYKToRGB(p[0], p[1], p[2], p[3])
			p[3] = 0xff
		}
		return &image.RGBA{Pix: m.Pix, Stride: m.Stride, Rect: m.Rect}, nil
	}
	return img, nil
}

// dropLowBytes makes 16-bit channels 8-bit ones.
func dropLowBytes(pix []byte) []byte {
	half := len(pix) / 2
	for i := range half {
		pix[i] = pix[2*i]
	}
	return pix[:half]
}

// premultiply multiplies the colours by alpha, so that transparent pixels don't colour the
// average.
func premultiply(img *image.NRGBA) *image.RGBA {
	for p := img.Pix; len(p) >= 4; p = p[4:] {
		if alpha := uint32(p[3]); alpha != 0xff {
			for i, c := range p[:3] {
				p[i] = uint8((uint32(c)*alpha + 127) / 255)
			}
		}
	}
	return &image.RGBA{Pix: img.Pix, Stride: img.Stride, Rect: img.Rect}
}

// forgetHidden removes colours that are not visible, in which a file could carry a text: those of
// transparent pixels, and those of a palette that no pixel has.
func forgetHidden(img image.Image) {
	switch m := img.(type) {
	case *image.NRGBA:
		for p := m.Pix; len(p) >= 4; p = p[4:] {
			if p[3] == 0 {
				clear(p[:3])
			}
		}
	case *image.Paletted:
		var isUsed [256]bool
		for _, index := range m.Pix {
			isUsed[index] = true
		}
		for i, c := range m.Palette {
			if !isUsed[i] {
				m.Palette[i] = color.RGBA{A: 0xff}
			} else if _, _, _, alpha := c.RGBA(); alpha == 0 {
				m.Palette[i] = color.RGBA{}
			}
		}
	}
}

// toRGBA returns the picture itself if it is an RGBA, else a copy.
func toRGBA(img image.Image) *image.RGBA {
	if rgba, ok := img.(*image.RGBA); ok {
		return rgba
	}
	rgba := image.NewRGBA(img.Bounds())
	draw.Draw(rgba, rgba.Rect, img, rgba.Rect.Min, draw.Src)
	return rgba
}

// toGray returns a picture whose channels are equal as a grey one.
func toGray(img *image.RGBA) *image.Gray {
	gray := image.NewGray(img.Rect)
	for i := range gray.Pix {
		gray.Pix[i] = img.Pix[4*i]
	}
	return gray
}

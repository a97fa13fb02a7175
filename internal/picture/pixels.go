package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
)

// decode decodes the picture in a file and scales it to the given sides. The type of the result is Gray, Paletted, RGBA, NRGBA
// or YCbCr 4:2:0.
func decode(h header, file []byte, width, height int) (image.Image, error) {
	switch isScaled := width < h.width || height < h.height; {
	case h.format == formatPNG && isScaled:
		return decodeRows(file, h, image.Point{width, height})
	case h.format == formatPNG:
		return decodeWhole(png.Decode, file)
	case h.isCommon:
		img, err := decodeReduced(h)
		if err != nil {
			return nil, err
		}
		return scale(img, width, height), nil
	default:
		img, err := decodeWhole(jpeg.Decode, file)
		if err != nil || !isScaled {
			return img, err
		}
		return scale(img, width, height), nil
	}
}

// decodeWhole decodes a picture with decodeFormat, without scaling it. If scale or encode does not support the type of the
// image, decodeWhole converts the image in place.
func decodeWhole(decodeFormat func(io.Reader) (image.Image, error), file []byte) (image.Image, error) {
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

// dropLowBytes converts samples from 16 bits to 8 bits, in place.
func dropLowBytes(pix []byte) []byte {
	half := len(pix) / 2
	for i := range half {
		pix[i] = pix[2*i]
	}
	return pix[:half]
}

// clearHiddenColors removes the colors of transparent pixels, and the colors of the palette that no pixel uses. A file could
// hide a text in these invisible colors.
func clearHiddenColors(img image.Image) {
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

// toRGBA converts img to an image.RGBA. If img is an image.RGBA already, toRGBA returns img itself.
func toRGBA(img image.Image) *image.RGBA {
	if rgba, ok := img.(*image.RGBA); ok {
		return rgba
	}
	rgba := image.NewRGBA(img.Bounds())
	draw.Draw(rgba, rgba.Rect, img, rgba.Rect.Min, draw.Src)
	return rgba
}

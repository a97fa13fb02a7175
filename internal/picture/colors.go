package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Color types of a PNG (chunk IHDR).
const (
	grayscale      = 0
	truecolor      = 2
	paletted       = 3
	grayAlpha      = 4
	truecolorAlpha = 6
)

// opaque is the alpha of an opaque pixel. Pixels are uint32 values with red in the lowest byte.
const opaque = 0xff << 24

// pngConverter converts rows of stored PNG pixels to gray pixels of 8 bits, or to RGBA pixels whose colors are multiplied by
// alpha.
type pngConverter struct {
	depth, colorType byte
	bits             int         // bits per stored pixel
	channels         int         // channels of a converted pixel: 1 or 4
	colors           [256]uint32 // for pixels of up to 8 bits: the color of each stored value, with red in the lowest byte
	clear            []byte      // the stored value that means a transparent pixel; nil if there is none
}

var errTransparency = errors.New("unexpected tRNS")

// newPNGConverter returns the converter for a PNG. Package image/png must have checked the PNG's header (chunk IHDR) before.
func newPNGConverter(depth, colorType byte, c pngChunks) (*pngConverter, error) {
	samples := map[byte]int{grayscale: 1, truecolor: 3, paletted: 1, grayAlpha: 2, truecolorAlpha: 4}[colorType]
	p := &pngConverter{depth: depth, colorType: colorType, bits: samples * int(depth), channels: 4}
	switch colorType {
	case grayscale, truecolor:
		if err := p.setClear(samples, c.transparency); err != nil {
			return nil, err
		}
		if colorType == grayscale {
			p.setGrays()
		}
	case paletted:
		return p, p.setPalette(c)
	default:
		if c.transparency != nil {
			return nil, errTransparency
		}
	}
	if c.palette != nil && (colorType == grayscale || colorType == grayAlpha) {
		return nil, errors.New("a palette of greys")
	}
	return p, nil
}

// setClear reads the PNG's one transparent color from the content of the chunk tRNS. In this chunk each sample has 16 bits.
func (p *pngConverter) setClear(samples int, transparency []byte) error {
	if transparency == nil {
		return nil
	}
	if len(transparency) != 2*samples {
		return errTransparency
	}
	if p.depth == 16 {
		p.clear = transparency
		return nil
	}
	for i := 1; i < len(transparency); i += 2 {
		p.clear = append(p.clear, transparency[i])
	}
	return nil
}

func (p *pngConverter) setGrays() {
	if p.clear == nil {
		p.channels = 1
	}
	if p.depth > 8 {
		return
	}
	values := 1 << p.depth
	for i := range values {
		p.colors[i] = uint32(i*255/(values-1))*0x010101 | opaque
	}
	if p.clear != nil && int(p.clear[0]) < values {
		p.colors[p.clear[0]] = 0
	}
}

func (p *pngConverter) setPalette(c pngChunks) error {
	if c.palette == nil || len(c.palette)/3 > 1<<p.depth || len(c.transparency) > 256 {
		return fmt.Errorf("palette of %d bytes, transparency of %d", len(c.palette), len(c.transparency))
	}
	for i := range p.colors {
		pixel := []byte{0, 0, 0, 0xff} // color of palette indexes beyond the end of the palette
		if 3*i < len(c.palette) {
			copy(pixel, c.palette[3*i:][:3])
		}
		if i < len(c.transparency) {
			pixel[3] = c.transparency[i]
			premultiply(pixel)
		}
		p.colors[i] = binary.LittleEndian.Uint32(pixel)
	}
	return nil
}

// convert converts the pixels of row and writes them to into. After the pixels, row must have rowMargin more bytes, whose
// values don't matter.
func (p *pngConverter) convert(into, row []byte) {
	switch {
	case p.depth <= 8 && (p.colorType == grayscale || p.colorType == paletted):
		p.convertValues(into, row)
		return
	case p.colorType == grayscale || p.colorType == grayAlpha:
		p.convertGrays(into, row)
	default:
		p.convertColors(into, row)
	}
	if p.clear != nil {
		p.clearPixels(into, row)
	}
}

// rowMargin is the number of extra bytes after a row. With these bytes, 8 bytes can be read at once at every pixel, even at the
// last pixel.
const rowMargin = 8

// convertValues converts pixels of up to 8 bits.
func (p *pngConverter) convertValues(into, row []byte) {
	if p.depth == 8 && p.channels == 1 {
		copy(into, row)
		return
	}
	perByte, mask := 8/int(p.depth), byte(1<<p.depth-1)
	for i := range len(into) / p.channels {
		pixelColor := p.colors[row[i/perByte]>>(8-int(p.depth)*(i%perByte+1))&mask]
		if p.channels == 1 {
			into[i] = uint8(pixelColor)
		} else {
			binary.LittleEndian.PutUint32(into[4*i:], pixelColor)
		}
	}
}

// convertGrays converts gray pixels that have 16 bits or an alpha channel.
func (p *pngConverter) convertGrays(into, row []byte) {
	if p.channels == 1 {
		for i := range into {
			into[i] = row[2*i]
		}
		return
	}
	stored, sample := p.bits/8, int(p.depth)/8
	for out := into; len(out) >= 4; out = out[4:] {
		light, alpha := row[0], byte(0xff)
		if p.colorType == grayAlpha {
			alpha = row[sample]
		}
		out[0], out[1], out[2], out[3] = light, light, light, alpha
		row = row[stored:]
	}
	premultiply(into)
}

// convertColors converts pixels with separate samples for red, green and blue.
func (p *pngConverter) convertColors(into, row []byte) {
	switch {
	case p.colorType == truecolor && p.depth == 8:
		for i := 0; i < len(into); i += 4 {
			binary.LittleEndian.PutUint32(into[i:], binary.LittleEndian.Uint32(row)|opaque)
			row = row[3:]
		}
	case p.colorType == truecolor:
		for i := 0; i < len(into); i += 4 {
			binary.LittleEndian.PutUint32(into[i:], highBytes(row)|opaque)
			row = row[6:]
		}
	case p.depth == 8:
		copy(into, row)
	default:
		for i := 0; i < len(into); i += 4 {
			binary.LittleEndian.PutUint32(into[i:], highBytes(row))
			row = row[8:]
		}
	}
	if p.colorType == truecolorAlpha {
		premultiply(into)
	}
}

// clearPixels makes all pixels transparent that are stored as p.clear.
func (p *pngConverter) clearPixels(into, row []byte) {
	stored := p.bits / 8
	for i := range len(into) / 4 {
		if bytes.Equal(row[i*stored:][:stored], p.clear) {
			clear(into[4*i:][:4])
		}
	}
}

// highBytes returns the high bytes of four samples of 16 bits each.
func highBytes(samples []byte) uint32 {
	bytes := binary.LittleEndian.Uint64(samples) & everyOther
	bytes = (bytes | bytes>>8) & 0x0000ffff0000ffff
	return uint32(bytes | bytes>>16)
}

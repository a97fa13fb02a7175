package picture

import (
	"image"
	"image/color"

	"golang.org/x/image/draw"
)

// fit returns the sides of a picture whose longer side becomes at most maxSide. The shorter one
// is rounded, and at least 1.
func fit(width, height, maxSide int) (int, int) {
	longer := max(width, height)
	if longer <= maxSide {
		return width, height
	}
	return max(1, (width*maxSide+longer/2)/longer), max(1, (height*maxSide+longer/2)/longer)
}

// scale returns a smaller picture as RGBA or Gray, and overwrites the given one. First it averages
// whole boxes of pixels, to less than twice the sides; then it interpolates, which at that ratio
// leaves no pixel out.
func scale(img image.Image, width, height int) image.Image {
	size := img.Bounds().Size()
	averaged := average(img, size.X/width, size.Y/height)
	scaled := newRGBA(spare(averaged), width, height)
	draw.ApproxBiLinear.Scale(scaled, scaled.Rect, averaged, averaged.Bounds(), draw.Src, nil)
	if _, isGray := averaged.(*image.Gray); isGray {
		return toGray(scaled)
	}
	return scaled
}

// spare returns the memory of a picture that its pixels don't use.
func spare(img image.Image) []byte {
	if m, ok := img.(*image.RGBA); ok {
		return m.Pix[len(m.Pix):cap(m.Pix)]
	}
	return nil
}

// newRGBA makes a picture in the given memory if that is large enough. Its pixels are undefined.
func newRGBA(memory []byte, width, height int) *image.RGBA {
	rect := image.Rect(0, 0, width, height)
	if need := 4 * width * height; len(memory) >= need {
		return &image.RGBA{Pix: memory[:need], Stride: 4 * width, Rect: rect}
	}
	return image.NewRGBA(rect)
}

// average replaces boxes of across×down pixels by their average. The result is in the memory of
// the given picture, except for a Paletted, whose result needs four channels.
func average(img image.Image, across, down int) image.Image {
	size := img.Bounds().Size()
	b := boxes{size.X, size.Y, across, down}
	rect := image.Rect(0, 0, b.columns(), b.rows())
	switch img.(type) {
	case *image.RGBA, *image.Gray, *image.YCbCr:
		if across == 1 && down == 1 {
			return img
		}
	}
	switch m := img.(type) {
	case *image.NRGBA:
		return average(premultiply(m), across, down)
	case *image.RGBA:
		pix := b.average(m.Pix, 4, func(sums []uint32, y int) {
			addPixels(sums, m.Pix[y*m.Stride:][:4*size.X], across)
		})
		return &image.RGBA{Pix: pix, Stride: 4 * rect.Dx(), Rect: rect}
	case *image.Gray:
		return &image.Gray{Pix: b.averagePlane(m.Pix, m.Stride), Stride: rect.Dx(), Rect: rect}
	case *image.YCbCr:
		chroma := boxes{m.COffset(size.X-1, 0) + 1, m.COffset(0, size.Y-1)/m.CStride + 1, across, down}
		return &image.YCbCr{
			Y: b.averagePlane(m.Y, m.YStride), YStride: rect.Dx(),
			Cb: chroma.averagePlane(m.Cb, m.CStride), Cr: chroma.averagePlane(m.Cr, m.CStride), CStride: chroma.columns(),
			SubsampleRatio: m.SubsampleRatio, Rect: rect,
		}
	case *image.Paletted:
		averaged := image.NewRGBA(rect)
		colours := premultipliedColours(m.Palette)
		b.average(averaged.Pix, 4, func(sums []uint32, y int) {
			addIndices(sums, m.Pix[y*m.Stride:][:size.X], across, &colours)
		})
		return averaged
	}
	panic("unreachable: decode returns no other form")
}

// boxes divides a picture or plane into boxes. Those at the right and lower edge can be smaller.
type boxes struct {
	width, height int // of the picture
	across, down  int // of a box
}

func (b boxes) columns() int { return (b.width + b.across - 1) / b.across }
func (b boxes) rows() int    { return (b.height + b.down - 1) / b.down }

// average writes the average of each box. addRow adds the pixels of a row to the sums of the
// boxes; so a row of boxes may overwrite the pixels that it replaces.
func (b boxes) average(into []byte, channels int, addRow func(sums []uint32, y int)) []byte {
	columns, rows := b.columns(), b.rows()
	sums := make([]uint32, channels*columns)
	for row := range rows {
		clear(sums)
		top, bottom := row*b.down, min((row+1)*b.down, b.height)
		for y := top; y < bottom; y++ {
			addRow(sums, y)
		}
		averages := into[row*len(sums):][:len(sums)]
		for i, sum := range sums {
			column := i / channels
			count := uint32((min((column+1)*b.across, b.width) - column*b.across) * (bottom - top))
			averages[i] = uint8((sum + count/2) / count)
		}
	}
	return into[:rows*len(sums)]
}

// averagePlane averages a plane of one channel in its own memory.
func (b boxes) averagePlane(pix []byte, stride int) []byte {
	return b.average(pix, 1, func(sums []uint32, y int) {
		row := pix[y*stride:][:b.width]
		for i := range sums {
			var sum uint32
			for _, sample := range row[i*b.across : min((i+1)*b.across, b.width)] {
				sum += uint32(sample)
			}
			sums[i] += sum
		}
	})
}

// addPixels adds a row of pixels with four channels to the sums of its boxes.
func addPixels(sums []uint32, row []byte, across int) {
	for ; len(sums) >= 4; sums = sums[4:] {
		box := row[:min(4*across, len(row))]
		row = row[len(box):]
		var red, green, blue, alpha uint32
		for ; len(box) >= 4; box = box[4:] {
			red += uint32(box[0])
			green += uint32(box[1])
			blue += uint32(box[2])
			alpha += uint32(box[3])
		}
		sums[0] += red
		sums[1] += green
		sums[2] += blue
		sums[3] += alpha
	}
}

// addIndices adds a row of indices into the colours to the sums of its boxes.
func addIndices(sums []uint32, row []byte, across int, colours *[256][4]uint32) {
	for ; len(sums) >= 4; sums = sums[4:] {
		box := row[:min(across, len(row))]
		row = row[len(box):]
		for _, index := range box {
			for i, channel := range colours[index] {
				sums[i] += channel
			}
		}
	}
}

func premultipliedColours(palette color.Palette) (colours [256][4]uint32) {
	for i, c := range palette {
		red, green, blue, alpha := c.RGBA()
		colours[i] = [4]uint32{red >> 8, green >> 8, blue >> 8, alpha >> 8}
	}
	return colours
}

package picture

import (
	"encoding/binary"
	"image"
	"image/color"
)

// fit computes the sides of a picture that is scaled down until its longer side has at most maxSide pixels. The shorter side is
// rounded, and is at least 1. A picture that already fits keeps its sides.
func fit(width, height, maxSide int) (int, int) {
	longer := max(width, height)
	if longer <= maxSide {
		return width, height
	}
	return max(1, (width*maxSide+longer/2)/longer), max(1, (height*maxSide+longer/2)/longer)
}

// scale scales the picture to the given sides. The type of the result is Gray, YCbCr 4:2:0 or RGBA. scale may overwrite the
// pixels of img.
func scale(img image.Image, width, height int) image.Image {
	size := img.Bounds().Size()
	if m, ok := img.(*image.RGBA); ok && width <= size.X && height <= size.Y {
		return scaleInto(img, width, height, m.Pix[:4*width*height]) // safe: each row is read before it is overwritten
	}
	return scaleCopy(img, width, height)
}

// scaleCopy is like scale, but never overwrites the pixels of img.
func scaleCopy(img image.Image, width, height int) image.Image {
	return scaleInto(img, width, height, nil)
}

// scaleInto scales the picture to the given sides. If the result is an RGBA, its pixels are written into room. If room is nil,
// memory for these pixels is allocated.
func scaleInto(img image.Image, width, height int, room []byte) image.Image {
	size, rect := img.Bounds().Size(), image.Rect(0, 0, width, height)
	switch m := img.(type) {
	case *image.Gray:
		scaled := image.NewGray(rect)
		scalePlane(m.Pix, m.Stride, size, scaled.Pix, rect.Max)
		return scaled
	case *image.YCbCr:
		scaled := image.NewYCbCr(rect, image.YCbCrSubsampleRatio420)
		stored := image.Point{m.COffset(size.X-1, 0) + 1, m.COffset(0, size.Y-1)/m.CStride + 1}
		shown := image.Point{(width + 1) / 2, (height + 1) / 2}
		scalePlane(m.Y, m.YStride, size, scaled.Y, rect.Max)
		scalePlane(m.Cb, m.CStride, stored, scaled.Cb, shown)
		scalePlane(m.Cr, m.CStride, stored, scaled.Cr, shown)
		return scaled
	}
	if room == nil {
		room = make([]byte, 4*width*height)
	}
	scaled := &image.RGBA{Pix: room, Stride: 4 * width, Rect: rect}
	s := newScaler(4, size, scaled.Pix, rect.Max)
	row := make([]byte, 4*size.X)
	for y := range size.Y {
		readRow(row, img, y)
		s.push(row)
	}
	return scaled
}

// scalePlane scales one plane of samples, such as a plane of Y, Cb or Cr.
func scalePlane(pix []byte, stride int, size image.Point, into []byte, to image.Point) {
	s := newScaler(1, size, into, to)
	for y := range size.Y {
		s.push(pix[y*stride:][:size.X])
	}
}

// readRow reads a row of a picture as RGBA. The colors are multiplied by alpha, so that an average of pixels is not tinted by
// the colors of transparent pixels.
func readRow(into []byte, img image.Image, y int) {
	switch m := img.(type) {
	case *image.RGBA:
		copy(into, m.Pix[y*m.Stride:])
	case *image.NRGBA:
		copy(into, m.Pix[y*m.Stride:])
		premultiply(into)
	case *image.Paletted:
		colours := premultipliedColors(m.Palette)
		for i, index := range m.Pix[y*m.Stride:][:len(into)/4] {
			copy(into[4*i:4*i+4], colours[index][:])
		}
	default:
		panic("unreachable: no picture has another form")
	}
}

// premultiply multiplies the colors of each pixel by the pixel's alpha.
func premultiply(row []byte) {
	for i := 0; i+4 <= len(row); i += 4 {
		pixel := binary.LittleEndian.Uint32(row[i:])
		if pixel >= opaque {
			continue
		}
		alpha := uint64(pixel >> 24)
		products := unpackChannels(pixel)*alpha + 127*one
		products += products>>8&everyOther + one // now the upper byte of each 16-bit lane is the product divided by 255
		binary.LittleEndian.PutUint32(row[i:], packChannels(products>>8&everyOther)&^opaque|pixel&opaque)
	}
}

func premultipliedColors(palette color.Palette) (colours [256][4]uint8) {
	for i, c := range palette {
		plain := color.NRGBAModel.Convert(c).(color.NRGBA)
		colours[i] = [4]uint8{plain.R, plain.G, plain.B, plain.A}
		premultiply(colours[i][:])
	}
	return colours
}

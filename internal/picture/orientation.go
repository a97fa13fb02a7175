package picture

import (
	"encoding/binary"
	"image"
)

// upright is the EXIF orientation of a picture that need not be turned before it is shown.
const upright = 1

// readOrientation reads the orientation of a picture from an EXIF block, which has the format of a TIFF file. If the block is
// missing or malformed, it returns the constant upright.
func readOrientation(exif []byte) int {
	const (
		tagOrientation = 0x0112
		typeShort      = 3
		entrySize      = 12
	)
	if len(exif) < 8 {
		return upright
	}
	var order binary.ByteOrder
	switch string(exif[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return upright
	}
	directory := int64(order.Uint32(exif[4:]))
	if directory+2 > int64(len(exif)) {
		return upright
	}
	entries := exif[directory+2:]
	for range order.Uint16(exif[directory:]) {
		if len(entries) < entrySize {
			return upright
		}
		if order.Uint16(entries) == tagOrientation {
			value := int(order.Uint16(entries[8:]))
			if order.Uint16(entries[2:]) != typeShort || order.Uint32(entries[4:]) != 1 || value < 1 || value > 8 {
				return upright
			}
			return value
		}
		entries = entries[entrySize:]
	}
	return upright
}

// orientations tells for each EXIF orientation which stored pixel is shown at column x and row y. If exchanged is true, first
// exchange x and y. If fromRight is true, count the stored columns from the right. If fromBottom is true, count the stored rows
// from the bottom.
var orientations = [9]struct{ exchanged, fromRight, fromBottom bool }{
	2: {false, true, false},
	3: {false, true, true},
	4: {false, false, true},
	5: {true, false, false},
	6: {true, false, true},
	7: {true, true, true},
	8: {true, true, false},
}

// orient turns or mirrors the picture as its EXIF orientation demands.
func orient(img image.Image, orientation int) image.Image {
	if orientation == upright {
		return img
	}
	size := img.Bounds().Size()
	if orientations[orientation].exchanged {
		size.X, size.Y = size.Y, size.X
	}
	rect := image.Rectangle{Max: size}
	switch m := img.(type) {
	case *image.Gray:
		shown := image.NewGray(rect)
		turn(shown.Pix, m.Pix, m.Stride, 1, rect, orientation)
		return shown
	case *image.YCbCr: // in 4:2:0, four pixels share a color sample; if a side is odd, turning shifts the colors by one pixel
		shown := image.NewYCbCr(rect, m.SubsampleRatio)
		half := image.Rect(0, 0, (size.X+1)/2, (size.Y+1)/2)
		turn(shown.Y, m.Y, m.YStride, 1, rect, orientation)
		turn(shown.Cb, m.Cb, m.CStride, 1, half, orientation)
		turn(shown.Cr, m.Cr, m.CStride, 1, half, orientation)
		return shown
	}
	stored, shown := toRGBA(img), image.NewRGBA(rect)
	turn(shown.Pix, stored.Pix, stored.Stride, 4, rect, orientation)
	return shown
}

// turn copies the pixels from stored to shown, and turns the picture in doing so. rect is the rectangle of the shown picture,
// and channels is the number of bytes per pixel.
func turn(shown, stored []byte, stride, channels int, rect image.Rectangle, orientation int) {
	turn := orientations[orientation]
	width, height := rect.Dx(), rect.Dy() // sides of the stored picture
	if turn.exchanged {
		width, height = height, width
	}
	for y := range rect.Dy() {
		for x := range rect.Dx() {
			column, row := x, y
			if turn.exchanged {
				column, row = y, x
			}
			if turn.fromRight {
				column = width - 1 - column
			}
			if turn.fromBottom {
				row = height - 1 - row
			}
			copy(shown[:channels], stored[row*stride+channels*column:])
			shown = shown[channels:]
		}
	}
}

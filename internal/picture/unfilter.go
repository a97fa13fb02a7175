package picture

import (
	"encoding/binary"
	"fmt"
)

// unfilter restores a row of a PNG. A PNG stores each byte as the difference between the byte and a value that the filter
// computes from neighbouring bytes (PNG specification, section 9). pixel is the number of bytes per pixel.
func unfilter(filter byte, row, above []byte, pixel int) error {
	switch filter {
	case 0:
	case 1:
		for i := pixel; i < len(row); i++ {
			row[i] += row[i-pixel]
		}
	case 2:
		addBytes(row, above)
	case 3:
		for i := range min(pixel, len(row)) {
			row[i] += above[i] / 2
		}
		for i := pixel; i < len(row); i++ {
			row[i] += uint8((int(row[i-pixel]) + int(above[i])) / 2)
		}
	case 4:
		for channel := range min(pixel, len(row)) {
			unfilterPaeth(row[channel:], above[channel:], pixel)
		}
	default:
		return fmt.Errorf("unknown filter %d", filter)
	}
	return nil
}

// addBytes adds from[i] to to[i] for each index i. It adds eight bytes at a time. The highest bit of each byte is added
// separately, so that no carry reaches the next byte.
func addBytes(to, from []byte) {
	const highest = 0x8080808080808080
	for ; len(to) >= 8; to, from = to[8:], from[8:] {
		a, b := binary.LittleEndian.Uint64(to), binary.LittleEndian.Uint64(from)
		binary.LittleEndian.PutUint64(to, (a&^highest+b&^highest)^(a^b)&highest)
	}
	for i := range to {
		to[i] += from[i]
	}
}

// unfilterPaeth restores the bytes of one channel that were stored with the filter Paeth. The filter estimates each byte: the
// estimate is the neighbour (left, above or upper left) whose value is closest to left + above - upper left.
func unfilterPaeth(row, above []byte, pixel int) {
	left, corner := 0, 0
	for i := 0; i < len(row); i += pixel {
		up := int(above[i])
		toLeft, toUp := up-corner, left-corner // left + above - upper left, minus left or minus above
		toCorner := toLeft + toUp
		toLeft, toUp, toCorner = max(toLeft, -toLeft), max(toUp, -toUp), max(toCorner, -toCorner)
		estimate := corner
		if toUp <= toCorner {
			estimate = up
		}
		if toLeft <= toUp && toLeft <= toCorner {
			estimate = left
		}
		left = (int(row[i]) + estimate) & 0xff
		row[i] = uint8(left)
		corner = up
	}
}

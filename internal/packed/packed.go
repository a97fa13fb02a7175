package packed

import "encoding/binary"

// WellFormed tells whether the bytes are exactly one complete msgpack map, in which no length
// announces more than the input holds. The check is needed because the library allocates what an array
// announces: one flipped bit could make it allocate gigabytes.
func WellFormed(b []byte) bool {
	if len(b) == 0 || (b[0]&0xf0 != 0x80 && b[0] != 0xde && b[0] != 0xdf) {
		return false
	}
	values := uint64(1) // values still to be read
	for ; values > 0; values-- {
		size, nested, ok := parseHeader(b)
		if !ok || size > uint64(len(b)) {
			return false
		}
		b = b[size:]
		if values += nested; values-1 > uint64(len(b)) { // each value has at least one byte
			return false
		}
	}
	return len(b) == 0
}

// parseHeader returns how many bytes the first value takes without the values inside it (size), and the
// number of values directly inside it (nested).
func parseHeader(b []byte) (size, nested uint64, ok bool) {
	if len(b) == 0 {
		return 0, 0, false
	}
	switch c := b[0]; {
	case c < 0x80, c >= 0xe0, c == 0xc0, c == 0xc2, c == 0xc3: // small integers, nil, booleans
		return 1, 0, true
	case c < 0x90: // short maps
		return 1, 2 * uint64(c&0x0f), true
	case c < 0xa0: // short lists
		return 1, uint64(c & 0x0f), true
	case c < 0xc0: // short texts
		return 1 + uint64(c&0x1f), 0, true
	case c >= 0xd4 && c <= 0xd8: // extensions of 1, 2, 4, 8, 16 bytes and a type
		return 2 + 1<<(c-0xd4), 0, true
	default:
		return parseLongHeader(c, b[1:])
	}
}

// parseLongHeader is parseHeader for a value that announces its length after its first byte c, and for a number.
// Its b begins after c.
func parseLongHeader(c byte, b []byte) (size, nested uint64, ok bool) {
	switch c {
	case 0xca, 0xce, 0xd2: // numbers of four bytes
		return 5, 0, true
	case 0xcb, 0xcf, 0xd3: // numbers of eight bytes
		return 9, 0, true
	case 0xcc, 0xd0: // numbers of one byte
		return 2, 0, true
	case 0xcd, 0xd1: // numbers of two bytes
		return 3, 0, true
	}
	form, known := lengthForms[c]
	if !known || len(b) < form.width {
		return 0, 0, false
	}
	var length [8]byte
	copy(length[8-form.width:], b[:form.width])
	n := binary.BigEndian.Uint64(length[:])
	return 1 + uint64(form.width) + form.fixed + n*form.bytes, n * form.values, true
}

// lengthForms maps each first byte that announces a length to the form of the value: the width of the length,
// the bytes that follow whatever the length is (fixed), and for each unit of the length the bytes and the
// values that follow.
var lengthForms = map[byte]struct {
	width                int
	fixed, bytes, values uint64
}{
	0xc4: {1, 0, 1, 0}, 0xc5: {2, 0, 1, 0}, 0xc6: {4, 0, 1, 0}, // bytes
	0xc7: {1, 1, 1, 0}, 0xc8: {2, 1, 1, 0}, 0xc9: {4, 1, 1, 0}, // extensions
	0xd9: {1, 0, 1, 0}, 0xda: {2, 0, 1, 0}, 0xdb: {4, 0, 1, 0}, // text
	0xdc: {2, 0, 0, 1}, 0xdd: {4, 0, 0, 1}, // lists
	0xde: {2, 0, 0, 2}, 0xdf: {4, 0, 0, 2}, // maps
}

package packed

import "encoding/binary"

// WellFormed tells whether the bytes are exactly one msgpack map that contains every announced
// length. It is needed because the library allocates what an array announces: one flipped bit
// could make it allocate gigabytes.
func WellFormed(b []byte) bool {
	if len(b) == 0 || (b[0]&0xf0 != 0x80 && b[0] != 0xde && b[0] != 0xdf) {
		return false
	}
	values := uint64(1) // values still to be read
	for ; values > 0; values-- {
		skip, inside, ok := header(b)
		if !ok || skip > uint64(len(b)) {
			return false
		}
		b = b[skip:]
		if values += inside; values-1 > uint64(len(b)) { // each value has at least one byte
			return false
		}
	}
	return len(b) == 0
}

// header returns how many bytes the first value takes without the values inside it (skip), and the
// number of values inside it (inside).
func header(b []byte) (skip, inside uint64, ok bool) {
	if len(b) == 0 {
		return 0, 0, false
	}
	switch c := b[0]; {
	case c < 0x80, c >= 0xe0, c == 0xc0, c == 0xc2, c == 0xc3: // small integers, nil, booleans
		return 1, 0, true
	case c < 0x90:
		return 1, 2 * uint64(c&0x0f), true
	case c < 0xa0:
		return 1, uint64(c & 0x0f), true
	case c < 0xc0:
		return 1 + uint64(c&0x1f), 0, true
	case c >= 0xd4 && c <= 0xd8: // extensions of 1, 2, 4, 8, 16 bytes and a type
		return 2 + 1<<(c-0xd4), 0, true
	default:
		return longHeader(c, b[1:])
	}
}

// longHeader is header for values that announce their length, and for numbers.
func longHeader(c byte, b []byte) (skip, inside uint64, ok bool) {
	switch c {
	case 0xca, 0xce, 0xd2: // four bytes
		return 5, 0, true
	case 0xcb, 0xcf, 0xd3: // eight
		return 9, 0, true
	case 0xcc, 0xd0:
		return 2, 0, true
	case 0xcd, 0xd1:
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

// lengthForms maps the type bytes that announce a length to the length's width, the number of bytes
// that always follow, and for each counted item its size and its number of values.
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

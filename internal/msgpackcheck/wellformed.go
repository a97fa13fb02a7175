package msgpackcheck

import "encoding/binary"

// WellFormed tells whether the bytes are exactly one complete msgpack map in which no length promises more data than there is.
// The check is needed because the msgpack library allocates memory for the stated length of an array: one flipped bit could
// make the library allocate gigabytes.
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
		if values += nested; values-1 > uint64(len(b)) { // each value takes at least one byte
			return false
		}
	}
	return len(b) == 0
}

// parseHeader reads the first value's header: its first byte and its length, if it has one. size is the number of bytes of
// the value without the values nested in it. nested is the number of values directly inside it.
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
	case c >= 0xd4 && c <= 0xd8: // extensions: a type and 1, 2, 4, 8 or 16 bytes
		return 2 + 1<<(c-0xd4), 0, true
	default:
		return parseLongHeader(c, b[1:])
	}
}

// parseLongHeader works like parseHeader for numbers and for values that have a separate length. c is the value's first byte,
// and b begins after c.
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

// lengthForms describes the values that have a separate length, by their first byte. After the first byte, such a value has
// three parts: the length (width bytes), a part of constant size (fixed bytes), and the content. For each unit of the length,
// the content has a number of bytes (bytes) and of nested values (values).
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

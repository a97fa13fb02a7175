package schema

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The stored form of a row is a sequence of columns. Each column that has a value is stored as its key, the length of the
// value, and the value.

// ErrStored is the error for stored bytes that AppendStored cannot have written.
var ErrStored = errors.New("schema: unknown stored form")

// AppendBytes appends the length of b, and then b.
func AppendBytes[T string | []byte](dst []byte, b T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// CutBytes returns the bytes that AppendBytes wrote at the beginning of src, and the rest of src after them. b and rest share
// memory with src.
func CutBytes(src []byte) (b, rest []byte, ok bool) {
	n, size := binary.Uvarint(src)
	if size <= 0 || n > uint64(len(src)-size) {
		return nil, nil, false
	}
	return src[size : size+int(n) : size+int(n)], src[size+int(n):], true
}

// AppendStored appends a row's stored form.
func (t *Table) AppendStored(dst []byte, r Row) []byte {
	var value []byte
	for _, c := range t.Columns {
		if r[c.index] == nil || c.Transient {
			continue
		}
		value = c.Kind.AppendStored(c, value[:0], r[c.index])
		dst = AppendBytes(append(dst, c.Key), value)
	}
	return dst
}

// ReadStored returns the row whose stored form AppendStored wrote.
func (t *Table) ReadStored(src []byte) (Row, error) {
	r := t.New()
	return r, t.eachStored(src, func(c *Column, stored []byte) bool {
		value, ok := c.Kind.ReadStored(c, stored)
		r[c.index] = value
		return ok
	})
}

// eachStored calls read with the stored value of each column, and stops when read returns false.
func (t *Table) eachStored(src []byte, read func(c *Column, stored []byte) (ok bool)) error {
	for len(src) > 0 {
		key := src[0]
		stored, rest, ok := CutBytes(src[1:])
		if !ok {
			return ErrStored
		}
		src = rest
		c := t.ByKey(key)
		if c == nil || c.Compute != nil || c.Transient || c.InputOnly { // unknown columns, and columns that are never stored
			continue
		}
		if !read(c, stored) {
			return fmt.Errorf("%w: column %s", ErrStored, c.Name)
		}
	}
	return nil
}

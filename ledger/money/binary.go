package money

import (
	"encoding/binary"
	"math/bits"
)

// maxBytes is the length of the largest amount in bytes.
const maxBytes = 32

// AppendBinary appends the stored form: a byte with the length, 0 to 32, and that many
// big-endian bytes without a leading zero. Zero is the single byte 0.
func (a Amount) AppendBinary(dst []byte) []byte {
	if a.fitsUint64() {
		var buf [8]byte
		n := (bits.Len64(a.limbs[0]) + 7) / 8
		binary.BigEndian.PutUint64(buf[:], a.limbs[0])
		dst = append(dst, byte(n))
		return append(dst, buf[8-n:]...)
	}
	bytes32 := a.limbs.Bytes32()
	n := (a.limbs.BitLen() + 7) / 8
	dst = append(dst, byte(n))
	return append(dst, bytes32[maxBytes-n:]...)
}

// ReadAmount parses the form of AppendBinary and returns the bytes after it. The error is ErrEncoding for a length above 32
// and for missing bytes. A leading zero byte is also an error, because an amount has only one form.
func ReadAmount(src []byte) (Amount, []byte, error) {
	if len(src) == 0 {
		return Amount{}, nil, ErrEncoding
	}
	n := int(src[0])
	if n > maxBytes || len(src) < 1+n || (n > 0 && src[1] == 0) {
		return Amount{}, nil, ErrEncoding
	}
	digits, tail := src[1:1+n], src[1+n:]
	if n <= 8 {
		var u uint64
		for _, b := range digits {
			u = u<<8 | uint64(b)
		}
		return FromUint64(u), tail, nil
	}
	var a Amount
	a.limbs.SetBytes(digits)
	return a, tail, nil
}

// MarshalBinary implements encoding.BinaryMarshaler with AppendBinary's form. It has a value
// receiver, so that msgpack can encode a struct passed by value.
func (a Amount) MarshalBinary() ([]byte, error) {
	return a.AppendBinary(make([]byte, 0, 1+maxBytes)), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. Bytes after the amount
// are an error, ErrEncoding.
func (a *Amount) UnmarshalBinary(b []byte) error {
	parsed, tail, err := ReadAmount(b)
	if err != nil {
		return err
	}
	if len(tail) != 0 {
		return ErrEncoding
	}
	*a = parsed
	return nil
}

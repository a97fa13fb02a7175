package money

import (
	"encoding/binary"
	"math/bits"
)

// maxBytes is the length of the largest amount in bytes.
const maxBytes = 32

// AppendBinary appends the stored form: the length in one byte, 0 to 32, and then the number in big-endian order without
// leading zero bytes. An amount of 0 is stored as the single byte 0.
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

// ReadAmount parses an amount that AppendBinary has written, and returns the rest of src. The error is ErrEncoding if the
// length is above 32 or if bytes are missing. It is also ErrEncoding if the number has a leading zero byte, because each
// amount has only one stored form.
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

// MarshalBinary implements encoding.BinaryMarshaler. It returns the bytes that AppendBinary appends. The receiver is a
// value, so that msgpack can also encode a struct that is passed by value.
func (a Amount) MarshalBinary() ([]byte, error) {
	return a.AppendBinary(make([]byte, 0, 1+maxBytes)), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. If bytes follow the amount, it returns ErrEncoding.
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

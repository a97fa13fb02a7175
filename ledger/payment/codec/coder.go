package codec

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// coder is either an encoder or a decoder. To "code" a value means to encode the value at v in an encoder, and to decode
// into v in a decoder. So a single method per type defines the stored form for both directions.
type coder struct {
	enc   *msgpack.Encoder // writes to buf; nil in a decoder
	buf   bytes.Buffer
	pairs int // number of keys encoded so far

	dec *msgpack.Decoder // reads src; nil in an encoder
	src bytes.Reader
	err error // first error of a decoder, which then decodes nothing more

	raw     [40]byte // buffer for ids and amounts; a local array would be allocated on the heap
	scratch []byte   // buffer for longer values
}

// encodes tells whether c is an encoder.
func (c *coder) encodes() bool { return c.enc != nil }

// decodes tells whether c is a decoder that has not met an error.
func (c *coder) decodes() bool { return c.enc == nil && c.err == nil }

// key encodes the key of a field. The caller must not call it for an empty field.
func (c *coder) key(key int) {
	c.pairs++
	assert.NoError(c.enc.EncodeInt(int64(key)))
}

func text[T ~string](c *coder, v *T) {
	if c.encodes() {
		assert.NoError(c.enc.EncodeString(string(*v)))
	} else if c.decodes() {
		var s string
		s, c.err = c.dec.DecodeString()
		*v = T(s)
	}
}

func number[T ~int | ~int64 | ~uint8 | ~uint32 | ~uint64](c *coder, v *T) {
	if c.encodes() {
		assert.NoError(c.enc.EncodeInt(int64(*v)))
	} else if c.decodes() {
		var n int64
		n, c.err = c.dec.DecodeInt64()
		*v = T(n)
	}
}

func (c *coder) flag(v *bool) {
	if c.encodes() {
		assert.NoError(c.enc.EncodeBool(*v))
	} else if c.decodes() {
		*v, c.err = c.dec.DecodeBool()
	}
}

func (c *coder) bytes(v *[]byte) {
	if c.encodes() {
		assert.NoError(c.enc.EncodeBytes(*v))
	} else if c.decodes() {
		*v, c.err = c.dec.DecodeBytes()
	}
}

// packed codes a value that has its own binary form. An encoder calls appendTo to append these bytes; a decoder calls
// parse to parse them.
func (c *coder) packed(appendTo func(dst []byte) []byte, parse func([]byte) error) {
	if c.encodes() {
		c.scratch = appendTo(c.scratch[:0])
		assert.NoError(c.enc.EncodeBytes(c.scratch))
		return
	}
	var b []byte
	if c.bytes(&b); c.err == nil {
		c.err = parse(b)
	}
}

func (c *coder) id(v *ledger.ID) {
	if c.encodes() {
		assert.NoError(c.enc.EncodeBytes(append(c.raw[:0], v[:]...)))
		return
	}
	var b []byte
	if c.bytes(&b); c.err == nil && len(b) != len(v) {
		c.err = fmt.Errorf("an id of %d bytes", len(b))
	}
	copy(v[:], b)
}

func (c *coder) amount(v *money.Amount) {
	if c.encodes() {
		assert.NoError(c.enc.EncodeBytes(v.AppendBinary(c.raw[:0])))
		return
	}
	var b []byte
	if c.bytes(&b); c.err != nil {
		return
	}
	if *v, b, c.err = money.ReadAmount(b); c.err == nil && len(b) != 0 {
		c.err = money.ErrEncoding
	}
}

func (c *coder) rate(v *money.Rate) {
	c.packed(
		func(dst []byte) []byte { return append(dst, v.String()...) },
		v.UnmarshalBinary,
	)
}

// address codes an IP address in its binary form, without a zone. The binary form of the zero address is empty.
func (c *coder) address(v *netip.Addr) {
	if c.encodes() {
		b, err := v.WithZone("").AppendBinary(c.raw[:0])
		assert.NoError(err)
		assert.NoError(c.enc.EncodeBytes(b))
		return
	}
	var b []byte
	if c.bytes(&b); c.err != nil || len(b) == 0 {
		return
	}
	address, ok := netip.AddrFromSlice(b)
	if !ok {
		c.err = fmt.Errorf("an address of %d bytes", len(b))
	}
	*v = address
}

// failure codes a failure as two values: the code and the detail.
func (c *coder) failure(v *payment.Failure) {
	text(c, &v.Code)
	text(c, &v.Detail)
}

var errShort = errors.New("a value is cut off")

// array codes an array of valueCount values; the function code must code all of them. If a stored array is longer, a
// decoder skips the values at its end, so that a later release may add values.
func (c *coder) array(valueCount int, code func()) {
	if c.encodes() {
		assert.NoError(c.enc.EncodeArrayLen(valueCount))
		code()
		return
	}
	storedCount := c.length(0)
	if c.err == nil && storedCount < valueCount {
		c.err = errShort
	}
	if c.err != nil {
		return
	}
	code()
	for range storedCount - valueCount {
		if c.err == nil {
			c.err = c.dec.Skip()
		}
	}
}

// length codes the length of a list. An encoder encodes n and returns n; a decoder returns the length that it has
// decoded.
func (c *coder) length(n int) int {
	if c.encodes() {
		assert.NoError(c.enc.EncodeArrayLen(n))
	} else if c.decodes() {
		n, c.err = c.dec.DecodeArrayLen()
	}
	return n
}

// list returns a function that codes a list, given the function code, which codes one element.
func list[T any](code func(*coder, *T)) func(*coder, *[]T) {
	return func(c *coder, v *[]T) {
		if n := c.length(len(*v)); c.encodes() {
			for i := range *v {
				code(c, &(*v)[i])
			}
		} else {
			for range n {
				var element T
				if code(c, &element); c.err != nil {
					return
				}
				*v = append(*v, element)
			}
		}
	}
}

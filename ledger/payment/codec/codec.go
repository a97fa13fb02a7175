package codec

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/internal/msgpackcheck"
	"mizan/ledger/payment"
)

// recordVersion is the first byte of a transaction's payload (stored form). The second byte begins a msgpack map.
const recordVersion = 2

// mapHead is the first byte of a msgpack map. It means that the next two bytes contain the number of pairs.
const mapHead = 0xde

var encoders = sync.Pool{New: func() any {
	c := new(coder)
	c.enc = msgpack.NewEncoder(&c.buf)
	c.enc.UseCompactInts(true)
	return c
}}

// Encode returns the payload (stored form) of a transaction. It omits empty fields.
func Encode(r *payment.Record) []byte {
	c := encoders.Get().(*coder)
	defer encoders.Put(c)
	c.buf.Reset()
	c.pairs = 0
	c.buf.Write([]byte{recordVersion, mapHead, 0, 0}) // at the end, the number of pairs replaces the two zeros
	for i := range fields {
		fields[i].code(c, r)
	}
	payload := bytes.Clone(c.buf.Bytes())
	payload[2], payload[3] = byte(c.pairs>>8), byte(c.pairs)
	return payload
}

var decoders = sync.Pool{New: func() any { return &coder{dec: msgpack.NewDecoder(nil)} }}

var errFormat = errors.New("transaction: unknown form")

// Decode parses the payload (stored form) of a transaction.
func Decode(payload []byte) (*payment.Record, error) {
	if len(payload) == 0 || payload[0] != recordVersion || !msgpackcheck.WellFormed(payload[1:]) {
		return nil, errFormat
	}
	c := decoders.Get().(*coder)
	defer decoders.Put(c)
	c.src.Reset(payload[1:])
	defer c.src.Reset(nil)
	c.dec.Reset(&c.src)
	r := new(payment.Record)
	if c.err = nil; !c.decode(r) {
		return nil, c.err
	}
	if !r.Rate.IsZero() {
		r.SettlementAsset.Env = r.Asset.Env // this Env is not stored, because a conversion never changes the environment
	}
	return r, nil
}

// decode decodes the pairs of the map. It skips unknown keys, so that a later release may add keys.
func (c *coder) decode(r *payment.Record) bool {
	var pairs, key int
	if pairs, c.err = c.dec.DecodeMapLen(); c.err != nil {
		c.err = fmt.Errorf("transaction: %w", c.err)
		return false
	}
	for range pairs {
		number(c, &key)
		switch {
		case c.err != nil:
		case key < 0 || key >= len(fields):
			c.err = c.dec.Skip()
		default:
			fields[key].code(c, r)
		}
		if c.err != nil {
			c.err = fmt.Errorf("transaction: key %d: %w", key, c.err)
			return false
		}
	}
	return true
}

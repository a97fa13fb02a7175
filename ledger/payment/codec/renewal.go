package codec

import (
	"encoding/binary"
	"errors"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/ledger"
	"mizan/ledger/payment"
)

// renewal encodes what the payment renews: three ids and the number.
func (e *encoder) renewal(r *payment.Renewal) {
	if r == nil {
		return
	}
	e.volume = e.volume[:0]
	for _, id := range [...]ledger.ID{r.Subscription, r.Initial, r.Terminal} {
		e.volume = append(e.volume, id[:]...)
	}
	e.volume = binary.AppendUvarint(e.volume, r.Number)
	e.bytes(keyRenewal, e.volume)
}

var errRenewal = errors.New("a renewal that is cut off")

func decodeRenewal(dec *msgpack.Decoder, r *payment.Record) error {
	b, err := dec.DecodeBytes()
	if err != nil {
		return err
	}
	renewal := new(payment.Renewal)
	for _, to := range [...]*ledger.ID{&renewal.Subscription, &renewal.Initial, &renewal.Terminal} {
		if len(b) < len(to) {
			return errRenewal
		}
		b = b[copy(to[:], b):]
	}
	number, n := binary.Uvarint(b)
	if n <= 0 || n != len(b) {
		return errRenewal
	}
	renewal.Number = number
	r.Renewal = renewal
	return nil
}

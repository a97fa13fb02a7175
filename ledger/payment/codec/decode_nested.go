package codec

import (
	"encoding/binary"
	"errors"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// reader reads the fields of an array; after the first error it reads nothing.
type reader struct {
	dec *msgpack.Decoder
	err error
}

var (
	errShort  = errors.New("an array is too short")
	errWindow = errors.New("a window of no day or month")
)

// array reads an array of at least so many fields with fn and skips the rest.
func (r *reader) array(fields int, fn func()) {
	n := r.length()
	if r.err == nil && n < fields {
		r.err = errShort
	}
	if r.err != nil {
		return
	}
	fn()
	for range n - fields {
		if r.err == nil {
			r.err = r.dec.Skip()
		}
	}
}

func (r *reader) length() (n int) {
	if r.err == nil {
		n, r.err = r.dec.DecodeArrayLen()
	}
	return n
}

func (r *reader) text(to *string) {
	if r.err == nil {
		*to, r.err = r.dec.DecodeString()
	}
}

func (r *reader) bytes(to *[]byte) {
	if r.err == nil {
		*to, r.err = r.dec.DecodeBytes()
	}
}

func (r *reader) bool(to *bool) {
	if r.err == nil {
		*to, r.err = r.dec.DecodeBool()
	}
}

func (r *reader) number() (v int64) {
	if r.err == nil {
		v, r.err = r.dec.DecodeInt64()
	}
	return v
}

func (r *reader) id(to *ledger.ID) {
	if r.err == nil {
		r.err = decodeID(r.dec, to)
	}
}

func (r *reader) amount(to *money.Amount) {
	if r.err == nil {
		r.err = decodeAmount(r.dec, to)
	}
}

func (r *reader) code(to *payment.Code) {
	var code string
	r.text(&code)
	*to = payment.Code(code)
}

func (r *reader) failure(to *payment.Failure) {
	r.code(&to.Code)
	r.text(&to.Detail)
}

func decodeRefunds(dec *msgpack.Decoder, to *payment.Record) error {
	r := &reader{dec: dec}
	for range r.length() {
		var f payment.RefundRecord
		r.array(refundFields, func() {
			r.id(&f.ID)
			r.amount(&f.Amount)
			r.amount(&f.RefundedFee)
			f.Status = payment.RefundStatus(r.number())
			r.failure(&f.Failure)
			f.Created = ledger.Micros(r.number())
			f.Finished = ledger.Micros(r.number())
		})
		if r.err != nil {
			return r.err
		}
		to.Refunds = append(to.Refunds, f)
	}
	return r.err
}

func decodeAttempts(dec *msgpack.Decoder, to *payment.Record) error {
	r := &reader{dec: dec}
	for range r.length() {
		var a payment.Attempt
		r.array(attemptFields, func() {
			r.id(&a.Terminal)
			r.failure(&a.Failure)
			a.At = ledger.Micros(r.number())
			r.text(&a.Outcome)
			a.Priority = int(r.number())
		})
		if r.err != nil {
			return r.err
		}
		to.Attempts = append(to.Attempts, a)
	}
	return r.err
}

func decodeVolumes(dec *msgpack.Decoder, to *payment.Record) error {
	b, err := dec.DecodeBytes()
	if err != nil {
		return err
	}
	for len(b) > 0 {
		var v payment.Volume
		if len(b) < len(v.Limit) {
			return errShort
		}
		if b, err = cutVolume(&v, b[copy(v.Limit[:], b):]); err != nil {
			return err
		}
		to.Volumes = append(to.Volumes, v)
	}
	return nil
}

// cutVolume parses what encoder.volumes appended after the limit's id.
func cutVolume(v *payment.Volume, b []byte) (rest []byte, err error) {
	head, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, errShort
	}
	b = b[n:]
	if head&volumeText != 0 {
		v.Window, b, err = cutText(b)
	} else if window, known := ledger.WindowOf(head >> volumeBits); known {
		v.Window = window
	} else {
		err = errWindow
	}
	if err == nil && head&volumeSubject != 0 {
		v.Subject, b, err = cutText(b)
	}
	return b, err
}

// cutText parses what appendText appended.
func cutText(b []byte) (text string, rest []byte, err error) {
	if len(b) == 0 || len(b) < 1+int(b[0]) {
		return "", nil, errShort
	}
	n := 1 + int(b[0])
	return string(b[1:n]), b[n:], nil
}

func decodeAction(dec *msgpack.Decoder, to *payment.Record) error {
	r := &reader{dec: dec}
	a := new(payment.Action)
	r.array(actionFields, func() {
		r.text(&a.Type)
		r.text(&a.Method)
		r.text(&a.URL)
		r.bytes(&a.Params)
		r.text(&a.Page)
		a.PageUntil = ledger.Micros(r.number())
		r.text(&a.Code)
		r.text(&a.Deposit)
		r.bytes(&a.Material)
		a.ExpiresAt = ledger.Micros(r.number())
		a.Until = ledger.Micros(r.number())
		for range r.length() {
			var name string
			if r.text(&name); r.err != nil {
				return
			}
			a.Requires = append(a.Requires, name)
		}
		for range r.length() {
			var d payment.Destination
			r.array(destinationFields, func() {
				r.text(&d.ID)
				r.text(&d.Name)
			})
			if r.err != nil {
				return
			}
			a.Destinations = append(a.Destinations, d)
		}
	})
	to.Action = a
	return r.err
}

func decodeOp(dec *msgpack.Decoder, to *payment.Record) error {
	r := &reader{dec: dec}
	o := new(payment.Op)
	r.array(opFields, func() {
		o.Kind = payment.OpKind(r.number())
		r.id(&o.Request)
		r.amount(&o.Amount)
		r.amount(&o.RefundedFee)
		r.bool(&o.Answered)
		o.NotFoundAnswers, o.Inquiries = uint8(r.number()), uint8(r.number())
		r.code(&o.Why)
		r.bool(&o.Late)
		var from string
		r.text(&from)
		o.From = payment.Status(from)
		r.text(&o.Choice)
	})
	to.Op = o
	return r.err
}

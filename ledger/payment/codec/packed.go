package codec

import (
	"encoding/binary"
	"errors"
	"math"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// flagBits lists the record's booleans that are stored as bits of one number. A bit never changes its meaning.
var flagBits = [...]struct {
	bit    int
	locate func(*record) *bool
}{
	{1 << 0, func(r *record) *bool { return &r.Fees.OnTop }},
	{1 << 1, func(r *record) *bool { return &r.Fees.Refundable }},
	{1 << 2, func(r *record) *bool { return &r.Hosted }},
	{1 << 3, func(r *record) *bool { return &r.TwoPhase }},
	{1 << 4, func(r *record) *bool { return &r.LateSettlement }},
	{1 << 5, func(r *record) *bool { return &r.KeepCard }},
	{1 << 6, func(r *record) *bool { return &r.ConfirmedByProvider }},
	{1 << 7, func(r *record) *bool { return &r.EmptyTxID }},
	{1 << 8, func(r *record) *bool { return &r.VoidRequested }},
	{1 << 9, func(r *record) *bool { return &r.LateChargeback }},
}

// flagsOf returns the bits of the booleans that are true.
func flagsOf(r *record) (flags int) {
	for i := range flagBits {
		if *flagBits[i].locate(r) {
			flags |= flagBits[i].bit
		}
	}
	return flags
}

func setFlags(r *record, flags int) {
	for i := range flagBits {
		*flagBits[i].locate(r) = flags&flagBits[i].bit != 0
	}
}

// volumes codes (encodes or decodes) the volumes that count a transaction's amount. The form is small, because nearly
// every transaction under a limit stores its volumes twice, in two versions of its record. A volume is stored as the id
// of its limit, a number called the head, and up to two texts: the window and then the subject. The lowest bit of the
// head tells whether the subject follows, and the next bit whether the window follows as a text. If the window does not
// follow, the other bits of the head are its number (ledger.WindowNumber).
func (c *coder) volumes(v *[]payment.Volume) {
	c.packed(
		func(dst []byte) []byte {
			for i := range *v {
				dst = appendVolume(dst, &(*v)[i])
			}
			return dst
		},
		func(b []byte) (err error) {
			for len(b) > 0 && err == nil {
				var volume payment.Volume
				b, err = cutVolume(&volume, b)
				*v = append(*v, volume)
			}
			return err
		},
	)
}

// Bits of a volume's head. They are stored, so their meaning must never change.
const (
	subjectBit = 1 << iota
	windowTextBit

	headBitCount = iota
)

func appendVolume(dst []byte, v *payment.Volume) []byte {
	n, numbered := ledger.WindowNumber(v.Window)
	head := n << headBitCount
	if v.Subject != "" {
		head |= subjectBit
	}
	if !numbered {
		head |= windowTextBit
	}
	dst = binary.AppendUvarint(append(dst, v.Limit[:]...), head)
	if !numbered {
		dst = appendText(dst, v.Window)
	}
	if v.Subject != "" {
		dst = appendText(dst, v.Subject)
	}
	return dst
}

var errWindow = errors.New("a window with an unknown number")

// cutVolume parses the volume at the beginning of b, and returns the rest of b.
func cutVolume(v *payment.Volume, b []byte) (rest []byte, err error) {
	if b, err = cutID(&v.Limit, b); err != nil {
		return nil, err
	}
	head, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, errShort
	}
	b = b[n:]
	if head&windowTextBit != 0 {
		v.Window, b, err = cutText(b)
	} else if window, known := ledger.WindowOf(head >> headBitCount); known {
		v.Window = window
	} else {
		err = errWindow
	}
	if err == nil && head&subjectBit != 0 {
		v.Subject, b, err = cutText(b)
	}
	return b, err
}

// renewal codes (encodes or decodes) a payment's Renewal as three ids followed by the renewal's number.
func (c *coder) renewal(v *payment.Renewal) {
	ids := [...]*ledger.ID{&v.Subscription, &v.Initial, &v.Terminal}
	c.packed(
		func(dst []byte) []byte {
			for _, id := range ids {
				dst = append(dst, id[:]...)
			}
			return binary.AppendUvarint(dst, v.Number)
		},
		func(b []byte) (err error) {
			for _, id := range ids {
				if b, err = cutID(id, b); err != nil {
					return err
				}
			}
			number, n := binary.Uvarint(b)
			if n <= 0 || n != len(b) {
				return errShort
			}
			v.Number = number
			return nil
		},
	)
}

// cutID parses the id at the beginning of b, and returns the rest of b.
func cutID(id *ledger.ID, b []byte) (rest []byte, err error) {
	if len(b) < len(id) {
		return nil, errShort
	}
	return b[copy(id[:], b):], nil
}

// appendText appends the length of a text in one byte, then the text.
func appendText(dst []byte, text string) []byte {
	assert.That(len(text) <= math.MaxUint8, "payment: a volume's text of %d bytes", len(text))
	return append(append(dst, byte(len(text))), text...)
}

// cutText parses a text that appendText has written at the beginning of b, and returns the rest of b.
func cutText(b []byte) (text string, rest []byte, err error) {
	if len(b) == 0 || len(b) < 1+int(b[0]) {
		return "", nil, errShort
	}
	n := 1 + int(b[0])
	return string(b[1:n]), b[n:], nil
}

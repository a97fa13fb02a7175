package store

import (
	"encoding/binary"
	"fmt"

	"mizan/ledger"
	"mizan/ledger/money"
)

// MaxPage is the maximum length of a page's row in bytes. A page contains consecutive lines of one account, or consecutive
// rows of one list.
const MaxPage = 32 << 10

// Line is a posting on an account, with the account's totals after the posting.
type Line struct {
	Seq    uint64
	Index  int // index of the posting in its entry. If a capture only released money on the account, Index is above the indexes of all postings
	Booked ledger.Micros
	Side   ledger.Side
	Phase  ledger.Phase
	Amount money.Amount
	Totals ledger.Totals
}

// EncodeLine appends a line to a page's row.
func EncodeLine(dst []byte, l *Line) []byte {
	dst = binary.AppendUvarint(dst, l.Seq)
	dst = binary.AppendUvarint(dst, uint64(l.Index))
	dst = binary.AppendUvarint(dst, uint64(l.Booked))
	dst = append(dst, byte(l.Side)<<4|byte(l.Phase))
	dst = l.Amount.AppendBinary(dst)
	dst = l.Totals.DebitsPosted.AppendBinary(dst)
	dst = l.Totals.CreditsPosted.AppendBinary(dst)
	dst = l.Totals.DebitsPending.AppendBinary(dst)
	return l.Totals.CreditsPending.AppendBinary(dst)
}

// DecodePage calls fn with every line of a page, oldest first.
func DecodePage(row []byte, fn func(*Line) (more bool, err error)) error {
	r := reader{src: row}
	for len(r.src) > 0 {
		l := Line{Seq: r.uvarint(), Index: int(r.uvarint()), Booked: ledger.Micros(r.uvarint())}
		sideAndPhase := r.byte()
		l.Side, l.Phase = ledger.Side(sideAndPhase>>4), ledger.Phase(sideAndPhase&15)
		for _, a := range [...]*money.Amount{&l.Amount, &l.Totals.DebitsPosted, &l.Totals.CreditsPosted, &l.Totals.DebitsPending, &l.Totals.CreditsPending} {
			*a = r.amount()
		}
		if r.hasFailed {
			return fmt.Errorf("page: cut short")
		}
		if more, err := fn(&l); err != nil || !more {
			return err
		}
	}
	return nil
}

func (r *reader) amount() money.Amount {
	if r.hasFailed {
		return money.Amount{}
	}
	a, rest, err := money.ReadAmount(r.src)
	if err != nil {
		r.hasFailed = true
		return a
	}
	r.src = rest
	return a
}

// EncodeAmount appends the value of a counter's row.
func EncodeAmount(dst []byte, a money.Amount) []byte { return a.AppendBinary(dst) }

// DecodeAmount parses a counter's row.
func DecodeAmount(row []byte) (money.Amount, error) {
	r := reader{src: row}
	a := r.amount()
	if r.hasFailed || len(r.src) != 0 {
		return a, fmt.Errorf("counter: cut short")
	}
	return a, nil
}

// EncodeLowWaterMark appends the value of the low-water mark, a time in seconds since 1970. A due row lists the records on
// which work becomes due in one second. Due rows of seconds before the mark are never read again.
func EncodeLowWaterMark(dst []byte, second int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(second))
}

// DecodeLowWaterMark parses the value of the low-water mark.
func DecodeLowWaterMark(row []byte) (second int64, err error) {
	if len(row) != 8 {
		return 0, fmt.Errorf("due mark: %d bytes", len(row))
	}
	return int64(binary.BigEndian.Uint64(row)), nil
}

package ledger

import (
	"encoding/binary"
	"errors"

	"mizan/ledger/money"
)

// canonicalVersion begins every leaf. A later form gets another number; this
// one is written and read for ever.
const canonicalVersion = 1

// ErrCanonical says that bytes are no event's canonical form.
var ErrCanonical = errors.New("not a canonical event")

// AppendCanonical appends the event's leaf bytes: the version, then seq,
// record version, previous and booked as unsigned varints, the source's kind
// and id, name, from and to with their lengths, and the entry. Two different
// events never share a form, and an event has exactly one.
func (e *Event) AppendCanonical(dst []byte) []byte {
	dst = append(dst, canonicalVersion)
	dst = binary.AppendUvarint(dst, e.Seq)
	dst = binary.AppendUvarint(dst, e.Version)
	dst = binary.AppendUvarint(dst, e.Previous)
	dst = binary.AppendUvarint(dst, uint64(e.Booked))
	dst = append(dst, byte(e.Source.Kind))
	dst = append(dst, e.Source.ID[:]...)
	dst = appendText(dst, e.Name)
	dst = appendText(dst, e.From)
	dst = appendText(dst, e.To)
	if e.Entry == nil {
		return append(dst, 0)
	}
	return e.Entry.appendCanonical(append(dst, 1))
}

func (e *Entry) appendCanonical(dst []byte) []byte {
	dst = append(dst, byte(e.Phase))
	dst = binary.AppendUvarint(dst, uint64(e.Effective))
	dst = binary.AppendUvarint(dst, e.Reverses)
	dst = binary.AppendUvarint(dst, e.Closes)
	dst = binary.AppendUvarint(dst, uint64(len(e.Postings)))
	for i := range e.Postings {
		p := &e.Postings[i]
		dst = append(dst, byte(p.Side))
		dst = appendText(dst, string(p.Account))
		dst = p.Asset.AppendBinary(dst)
		dst = p.Amount.AppendBinary(dst)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// ParseCanonical reads an event's leaf bytes. It refuses anything that
// AppendCanonical would not have written.
func ParseCanonical(src []byte) (Event, error) {
	r := reader{src: src}
	var e Event
	if r.byte() != canonicalVersion {
		return e, ErrCanonical
	}
	e.Seq = r.uvarint()
	e.Version = r.uvarint()
	e.Previous = r.uvarint()
	e.Booked = Micros(r.uvarint())
	e.Source.Kind = Kind(r.byte())
	copy(e.Source.ID[:], r.take(16))
	e.Name, e.From, e.To = r.text(), r.text(), r.text()
	switch r.byte() {
	case 0:
	case 1:
		e.Entry = r.entry()
	default:
		return e, ErrCanonical
	}
	if r.bad || len(r.src) != 0 {
		return e, ErrCanonical
	}
	return e, nil
}

// reader takes canonical bytes apart; bad stays set after the first fault.
type reader struct {
	src []byte
	bad bool
}

func (r *reader) entry() *Entry {
	e := &Entry{Phase: Phase(r.byte()), Effective: r.date(), Reverses: r.uvarint(), Closes: r.uvarint()}
	n := r.uvarint()
	if r.bad || n > MaxPostings {
		r.bad = true
		return nil
	}
	e.Postings = make([]Posting, n)
	for i := range e.Postings {
		p := &e.Postings[i]
		p.Side = Side(r.byte())
		p.Account = Path(r.text())
		var err error
		if p.Asset, r.src, err = money.ReadAsset(r.src); err != nil {
			r.bad = true
			return nil
		}
		if p.Amount, r.src, err = money.ReadAmount(r.src); err != nil {
			r.bad = true
			return nil
		}
	}
	return e
}

func (r *reader) take(n int) []byte {
	if r.bad || len(r.src) < n {
		r.bad = true
		return nil
	}
	taken := r.src[:n]
	r.src = r.src[n:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.src)
	if r.bad || n <= 0 || (n > 1 && r.src[n-1] == 0) { // a padded varint would be a second form
		r.bad = true
		return 0
	}
	r.src = r.src[n:]
	return v
}

// date reads a day; one that a Date cannot hold would be a second form.
func (r *reader) date() Date {
	v := r.uvarint()
	d := Date(v)
	r.bad = r.bad || uint64(d) != v
	return d
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.src)) {
		r.bad = true
		return ""
	}
	return string(r.take(int(n)))
}

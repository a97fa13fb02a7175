package ledger

import (
	"encoding/binary"
	"errors"

	"mizan/ledger/money"
)

// canonicalVersion is the first byte of every leaf. Any other form would get another number.
const canonicalVersion = 2

// Flags of the optional parts of a leaf, added up in one byte.
const (
	hasEntry = 1 << iota
	hasRecord
	hasNotices
	hasClaims

	allParts = hasEntry | hasRecord | hasNotices | hasClaims
)

// MaxClaimHashes is the largest length of Stored.Claims.
const MaxClaimHashes = 64

// ErrCanonical is the error for bytes that are not an event's canonical form.
var ErrCanonical = errors.New("not a canonical event")

// AppendCanonical appends the event's leaf bytes. They begin with the version, the flags of optional parts, and the
// hash of the record, which can thus be read without parsing the rest. Then come seq, record version, previous
// and booked as unsigned varints; the source's kind and id; name, from and to, each after its length; the entry;
// and the hashes of notices and claims. Two different events never have the same form, and an event has exactly one
// form.
func (e *Event) AppendCanonical(dst []byte) []byte {
	parts := e.parts()
	dst = append(dst, canonicalVersion, parts)
	if parts&hasRecord != 0 {
		dst = append(dst, e.Stored.Record[:]...)
	}
	dst = binary.AppendUvarint(dst, e.Seq)
	dst = binary.AppendUvarint(dst, e.Version)
	dst = binary.AppendUvarint(dst, e.Previous)
	dst = binary.AppendUvarint(dst, uint64(e.Booked))
	dst = append(dst, byte(e.Source.Kind))
	dst = append(dst, e.Source.ID[:]...)
	dst = appendText(dst, e.Name)
	dst = appendText(dst, e.From)
	dst = appendText(dst, e.To)
	if parts&hasEntry != 0 {
		dst = e.Entry.appendCanonical(dst)
	}
	if parts&hasNotices != 0 {
		dst = append(dst, e.Stored.Notices[:]...)
	}
	if parts&hasClaims != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(e.Stored.Claims)))
		for i := range e.Stored.Claims {
			dst = append(dst, e.Stored.Claims[i][:]...)
		}
	}
	return dst
}

// parts returns the flags of the optional parts of the event's leaf.
func (e *Event) parts() (parts byte) {
	if e.Entry != nil {
		parts |= hasEntry
	}
	if e.Stored.Record != (Hash{}) {
		parts |= hasRecord
	}
	if e.Stored.Notices != (Hash{}) {
		parts |= hasNotices
	}
	if len(e.Stored.Claims) > 0 {
		parts |= hasClaims
	}
	return parts
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

// ParseCanonical parses an event's leaf bytes. The error is ErrCanonical for anything that
// AppendCanonical would not have written.
func ParseCanonical(src []byte) (Event, error) {
	r := reader{src: src}
	var e Event
	version, parts := r.byte(), r.byte()
	if version != canonicalVersion || parts&^allParts != 0 {
		return e, ErrCanonical
	}
	if parts&hasRecord != 0 {
		e.Stored.Record = r.hash()
	}
	e.Seq = r.uvarint()
	e.Version = r.uvarint()
	e.Previous = r.uvarint()
	e.Booked = Micros(r.uvarint())
	e.Source.Kind = Kind(r.byte())
	copy(e.Source.ID[:], r.take(16))
	e.Name, e.From, e.To = r.text(), r.text(), r.text()
	if parts&hasEntry != 0 {
		e.Entry = r.entry()
	}
	if parts&hasNotices != 0 {
		e.Stored.Notices = r.hash()
	}
	if parts&hasClaims != 0 {
		e.Stored.Claims = r.hashes()
	}
	if r.failed || len(r.src) != 0 {
		return e, ErrCanonical
	}
	return e, nil
}

// reader parses canonical bytes; bad stays set after the first fault.
type reader struct {
	src    []byte
	failed bool
}

func (r *reader) entry() *Entry {
	e := &Entry{Phase: Phase(r.byte()), Effective: r.date(), Reverses: r.uvarint(), Closes: r.uvarint()}
	n := r.uvarint()
	if r.failed || n > MaxPostings {
		r.failed = true
		return nil
	}
	e.Postings = make([]Posting, n)
	for i := range e.Postings {
		p := &e.Postings[i]
		p.Side = Side(r.byte())
		p.Account = Path(r.text())
		var err error
		if p.Asset, r.src, err = money.ReadAsset(r.src); err != nil {
			r.failed = true
			return nil
		}
		if p.Amount, r.src, err = money.ReadAmount(r.src); err != nil {
			r.failed = true
			return nil
		}
	}
	return e
}

// hash reads a hash. A hash of zeros is a fault: it would be a second form of an absent hash.
func (r *reader) hash() (h Hash) {
	copy(h[:], r.take(len(h)))
	r.failed = r.failed || h == Hash{}
	return h
}

func (r *reader) hashes() []Hash {
	n := r.uvarint()
	if r.failed || n == 0 || n > MaxClaimHashes || n > uint64(len(r.src)) {
		r.failed = true
		return nil
	}
	list := make([]Hash, n)
	for i := range list {
		list[i] = r.hash()
	}
	return list
}

func (r *reader) take(n int) []byte {
	if r.failed || len(r.src) < n {
		r.failed = true
		return nil
	}
	field := r.src[:n]
	r.src = r.src[n:]
	return field
}

func (r *reader) byte() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.src)
	if r.failed || n <= 0 || (n > 1 && r.src[n-1] == 0) { // a padded varint would be a second form
		r.failed = true
		return 0
	}
	r.src = r.src[n:]
	return v
}

// date reads a day. A number that a Date cannot hold is a fault: it would be a second form.
func (r *reader) date() Date {
	v := r.uvarint()
	d := Date(v)
	r.failed = r.failed || uint64(d) != v
	return d
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.src)) {
		r.failed = true
		return ""
	}
	return string(r.take(int(n)))
}

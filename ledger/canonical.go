package ledger

import (
	"encoding/binary"
	"errors"

	"mizan/ledger/money"
)

// canonicalVersion is the first byte of every leaf. A leaf is an event's canonical form: the bytes that the
// organization's Merkle tree hashes. A new form of leaves would get another number.
const canonicalVersion = 3

// Each of these flags says that a leaf has an optional part. A leaf has the sum of its flags in one byte.
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

// AppendCanonical appends the event's leaf bytes. They begin with canonicalVersion, the flags of the optional parts,
// and the hash of the record, so that a reader of the hash need not parse the rest. Then come Seq, Version, Previous
// and Booked as unsigned varints; the source's kind and id; the author's kind and, if the
// kind has a record, its Seq as an unsigned varint; Name, From and To, each after its length; the entry;
// and the hashes of notices and claims. Two different events never have the same form, and an event has exactly one
// form.
func (e *Event) AppendCanonical(dst []byte) []byte {
	parts := e.optionalParts()
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
	dst = append(dst, byte(e.Author.Kind))
	if e.Author.Kind.HasRecord() {
		dst = binary.AppendUvarint(dst, e.Author.Seq)
	}
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

// optionalParts returns the flags of the optional parts of the event's leaf.
func (e *Event) optionalParts() (parts byte) {
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
	r := canonicalReader{src: src, text: string(src)}
	var e Event
	version, parts := r.readByte(), r.readByte()
	if version != canonicalVersion || parts&^allParts != 0 {
		return e, ErrCanonical
	}
	if parts&hasRecord != 0 {
		e.Stored.Record = r.readHash()
	}
	e.Seq = r.readUvarint()
	e.Version = r.readUvarint()
	e.Previous = r.readUvarint()
	e.Booked = Micros(r.readUvarint())
	e.Source.Kind = Kind(r.readByte())
	copy(e.Source.ID[:], r.readBytes(16))
	e.Author = r.readAuthor()
	e.Name, e.From, e.To = r.readText(), r.readText(), r.readText()
	if parts&hasEntry != 0 {
		e.Entry = r.readEntry()
	}
	if parts&hasNotices != 0 {
		e.Stored.Notices = r.readHash()
	}
	if parts&hasClaims != 0 {
		e.Stored.Claims = r.readHashes()
	}
	if r.hasFailed || len(r.src) != 0 {
		return e, ErrCanonical
	}
	return e, nil
}

// canonicalReader parses canonical bytes. After the first invalid part, hasFailed stays true.
type canonicalReader struct {
	src       []byte // the bytes not read yet
	text      string // a copy of all bytes; the event's texts are substrings of it
	hasFailed bool
}

func (r *canonicalReader) readEntry() *Entry {
	e := &Entry{Phase: Phase(r.readByte()), Effective: r.readDate(), Reverses: r.readUvarint(), Closes: r.readUvarint()}
	n := r.readUvarint()
	if r.hasFailed || n > MaxPostings {
		r.hasFailed = true
		return nil
	}
	e.Postings = make([]Posting, n)
	for i := range e.Postings {
		p := &e.Postings[i]
		p.Side = Side(r.readByte())
		p.Account = Path(r.readText())
		var err error
		if p.Asset, r.src, err = money.ReadAsset(r.src); err != nil {
			r.hasFailed = true
			return nil
		}
		if p.Amount, r.src, err = money.ReadAmount(r.src); err != nil {
			r.hasFailed = true
			return nil
		}
	}
	return e
}

// readAuthor reads an author. An author that no event can have is a fault.
func (r *canonicalReader) readAuthor() (a Author) {
	a.Kind = AuthorKind(r.readByte())
	if a.Kind.HasRecord() {
		a.Seq = r.readUvarint()
	}
	r.hasFailed = r.hasFailed || !a.IsValid()
	return a
}

// readHash reads a hash. A hash of zeros is a fault, because an event without this hash would then have a
// second form.
func (r *canonicalReader) readHash() (h Hash) {
	copy(h[:], r.readBytes(len(h)))
	r.hasFailed = r.hasFailed || h == Hash{}
	return h
}

func (r *canonicalReader) readHashes() []Hash {
	n := r.readUvarint()
	if r.hasFailed || n == 0 || n > MaxClaimHashes || n > uint64(len(r.src)) {
		r.hasFailed = true
		return nil
	}
	list := make([]Hash, n)
	for i := range list {
		list[i] = r.readHash()
	}
	return list
}

func (r *canonicalReader) readBytes(n int) []byte {
	if r.hasFailed || len(r.src) < n {
		r.hasFailed = true
		return nil
	}
	field := r.src[:n]
	r.src = r.src[n:]
	return field
}

func (r *canonicalReader) readByte() byte {
	if b := r.readBytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *canonicalReader) readUvarint() uint64 {
	v, n := binary.Uvarint(r.src)
	if r.hasFailed || n <= 0 || (n > 1 && r.src[n-1] == 0) { // a padded varint would be a second form of the number
		r.hasFailed = true
		return 0
	}
	r.src = r.src[n:]
	return v
}

// readDate reads a day. A number that a Date cannot hold is a fault: it would be truncated, so a day would have
// a second form.
func (r *canonicalReader) readDate() Date {
	v := r.readUvarint()
	d := Date(v)
	r.hasFailed = r.hasFailed || uint64(d) != v
	return d
}

func (r *canonicalReader) readText() string {
	n := r.readUvarint()
	if n > uint64(len(r.src)) {
		r.hasFailed = true
		return ""
	}
	from := len(r.text) - len(r.src)
	return r.text[from:][:len(r.readBytes(int(n)))]
}

package ledger

import (
	"encoding/binary"
	"errors"

	"mizan/ledger/money"
)

// canonicalVersion is the first byte of every leaf. A leaf is the canonical form of an event: the bytes that are hashed in the
// organization's Merkle tree. If the form of leaves ever changes, canonicalVersion must change too.
const canonicalVersion = 3

// Flags that say which optional parts a leaf has. One byte of the leaf contains the sum of the flags.
const (
	hasEntry = 1 << iota
	hasRecord
	hasNotices
	hasClaims

	allParts = hasEntry | hasRecord | hasNotices | hasClaims
)

// MaxClaimHashes is the maximum length of StoredHashes.Claims.
const MaxClaimHashes = 64

// ErrCanonical is returned for bytes that are not the canonical form of an event.
var ErrCanonical = errors.New("not a canonical event")

// AppendCanonical appends the event's canonical form to dst. The form begins with canonicalVersion, the flags of the optional
// parts, and the hash of the record. The hash comes first so that it can be read without parsing the rest. Then follow Seq,
// Version, Previous and Booked as unsigned varints; the kind and the id of the source; the author's kind and, for kinds with a
// record, the author's Seq as an unsigned varint; Name, From and To, each preceded by its length; the entry; and the hashes of
// notices and claims. Each event has exactly one canonical form, and different events have different forms.
func (e *Event) AppendCanonical(dst []byte) []byte {
	parts := e.optionalParts()
	dst = append(dst, canonicalVersion, parts)
	if parts&hasRecord != 0 {
		dst = append(dst, e.StoredHashes.Record[:]...)
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
		dst = append(dst, e.StoredHashes.Notices[:]...)
	}
	if parts&hasClaims != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(e.StoredHashes.Claims)))
		for i := range e.StoredHashes.Claims {
			dst = append(dst, e.StoredHashes.Claims[i][:]...)
		}
	}
	return dst
}

// optionalParts returns the flags of the optional parts that the event's leaf has.
func (e *Event) optionalParts() (parts byte) {
	if e.Entry != nil {
		parts |= hasEntry
	}
	if e.StoredHashes.Record != (Hash{}) {
		parts |= hasRecord
	}
	if e.StoredHashes.Notices != (Hash{}) {
		parts |= hasNotices
	}
	if len(e.StoredHashes.Claims) > 0 {
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

// ParseCanonical parses the canonical form of an event. If AppendCanonical would not have written these bytes for any event,
// the error is ErrCanonical.
func ParseCanonical(src []byte) (Event, error) {
	r := canonicalReader{src: src, text: string(src)}
	var e Event
	version, parts := r.readByte(), r.readByte()
	if version != canonicalVersion || parts&^allParts != 0 {
		return e, ErrCanonical
	}
	if parts&hasRecord != 0 {
		e.StoredHashes.Record = r.readHash()
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
		e.StoredHashes.Notices = r.readHash()
	}
	if parts&hasClaims != 0 {
		e.StoredHashes.Claims = r.readHashes()
	}
	if r.hasFailed || len(r.src) != 0 {
		return e, ErrCanonical
	}
	return e, nil
}

// canonicalReader parses canonical bytes. When a part is invalid, hasFailed becomes true and stays true.
type canonicalReader struct {
	src       []byte // bytes that were not read yet
	text      string // copy of all bytes; the texts of the event are substrings of the copy
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

// readAuthor reads an author. If the author is not valid, reading fails.
func (r *canonicalReader) readAuthor() (a Author) {
	a.Kind = AuthorKind(r.readByte())
	if a.Kind.HasRecord() {
		a.Seq = r.readUvarint()
	}
	r.hasFailed = r.hasFailed || !a.IsValid()
	return a
}

// readHash reads a hash. If all bytes of the hash are zero, reading fails, because otherwise an event without this hash would
// have two canonical forms.
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
	if r.hasFailed || n <= 0 || (n > 1 && r.src[n-1] == 0) { // refuse a padded varint, because a number must have only one form
		r.hasFailed = true
		return 0
	}
	r.src = r.src[n:]
	return v
}

// readDate reads a day. If the number does not fit into a Date, reading fails. Otherwise the number would be truncated, and a
// day would have two canonical forms.
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

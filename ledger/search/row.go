package search

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// rowKind is the first byte of the keys of this package's rows in an organization's key-value store. The row whose key is
// only this byte has the seq up to which all events are indexed.
const rowKind = 'f'

// rowForm is the first byte of a row.
const rowForm = 1

const (
	bucketBits = 10
	storedHash = 5 // bytes of a hash in a row; the first bits are in the key
	keyLength  = 1 + 2 + 8 + 2

	// MaxRowEntries is how many entries a row has at most. If a flush has more entries for a bucket, it writes several rows.
	MaxRowEntries = 2048
)

// ErrForm is the error for a row of the index that this package did not write.
var ErrForm = errors.New("search: a row of an unknown form")

// IsRow tells whether the row with the key belongs to this package.
func IsRow(key []byte) bool { return len(key) > 0 && key[0] == rowKind }

// Rows returns the prefix of all keys of this package.
func Rows() []byte { return []byte{rowKind} }

// Bucket identifies the hashes that begin with the same bits.
type Bucket uint16

// Buckets is the number of buckets.
const Buckets = 1 << bucketBits

// Bucket returns the bucket that has the hash.
func (h Hash) Bucket() Bucket { return Bucket(h >> (hashBits - bucketBits)) }

// Rows returns the prefix of the keys of the bucket's rows. The keys are ordered by flush, and the rows of one flush by descending
// hash.
func (b Bucket) Rows() []byte { return binary.BigEndian.AppendUint16([]byte{rowKind}, uint16(b)) }

// Key is the key of a row with entries.
type Key struct {
	Bucket Bucket
	Last   uint64 // seq of the last event that was indexed when the row was written
	Left   uint16 // how many rows with greater hashes the same flush writes for the bucket
}

// Encode returns the key's bytes.
func (k Key) Encode() []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint64(k.Bucket.Rows(), k.Last), k.Left)
}

// ParseKey parses the key of a row with entries.
func ParseKey(key []byte) (k Key, err error) {
	if len(key) != keyLength || key[0] != rowKind {
		return k, ErrForm
	}
	k = Key{Bucket(binary.BigEndian.Uint16(key[1:])), binary.BigEndian.Uint64(key[3:]), binary.BigEndian.Uint16(key[11:])}
	if k.Bucket >= Buckets {
		return k, ErrForm
	}
	return k, nil
}

// Entry says that the transaction of an event had a value with a hash in one of its fields.
type Entry struct {
	Hash Hash
	Seq  uint64 // of the event
}

// Compare orders entries by hash, and those with the same hash by descending seq.
func (e Entry) Compare(o Entry) int {
	return cmp.Or(cmp.Compare(e.Hash, o.Hash), cmp.Compare(o.Seq, e.Seq))
}

// Row is the stored form of entries of a bucket.
type Row struct {
	Key   Key
	Value []byte
}

// EncodeRows returns the rows with the entries of a bucket, of which there must be at least one. last is the seq up to which all
// events are indexed; no entry has a greater seq. EncodeRows sorts the entries and removes those that are twice.
func EncodeRows(bucket Bucket, last uint64, entries []Entry) (rows []Row) {
	slices.SortFunc(entries, Entry.Compare)
	entries = slices.Compact(entries)
	left := (len(entries) - 1) / MaxRowEntries
	for part := range slices.Chunk(entries, MaxRowEntries) {
		rows = append(rows, Row{Key{bucket, last, uint16(left)}, encode(last, part)})
		left--
	}
	return rows
}

// encode returns the value of a row. Each hash is followed by the number of its seqs, and by the seqs. Each seq is stored as the
// distance to the one before, the first as the distance to last.
func encode(last uint64, entries []Entry) []byte {
	dst := append(make([]byte, 0, 1+len(entries)*(storedHash+4)), rowForm)
	for len(entries) > 0 {
		hash, n := entries[0].Hash, 1
		for n < len(entries) && entries[n].Hash == hash {
			n++
		}
		dst = append(dst, byte(hash>>32), byte(hash>>24), byte(hash>>16), byte(hash>>8), byte(hash))
		dst = binary.AppendUvarint(dst, uint64(n))
		for previous := last; n > 0; n-- {
			dst = binary.AppendUvarint(dst, previous-entries[0].Seq)
			previous = entries[0].Seq
			entries = entries[1:]
		}
	}
	return dst
}

// Decode returns the entries of a row. The error is ErrForm, also for entries that are not in order.
func Decode(key Key, value []byte) (entries []Entry, err error) {
	err = key.each(value, func(h Hash, seqs *seqReader) bool {
		for seq, more := seqs.next(); more; seq, more = seqs.next() {
			entries = append(entries, Entry{h, seq})
		}
		return true
	})
	for i := 1; i < len(entries) && err == nil; i++ {
		if entries[i-1].Compare(entries[i]) >= 0 {
			err = ErrForm
		}
	}
	return entries, err
}

// Seqs appends the seqs of a row's entries with a hash, the greatest first.
func Seqs(dst []uint64, key Key, value []byte, hash Hash) ([]uint64, error) {
	err := key.each(value, func(h Hash, seqs *seqReader) bool {
		if h == hash {
			for seq, more := seqs.next(); more; seq, more = seqs.next() {
				dst = append(dst, seq)
			}
		}
		return h < hash
	})
	return dst, err
}

// seqReader reads the seqs that have the same hash.
type seqReader struct {
	src       []byte
	n         uint64 // how many seqs are left
	previous  uint64
	hasFailed bool
}

func (r *seqReader) uvarint() uint64 {
	if len(r.src) > 0 && r.src[0] < 0x80 {
		v := r.src[0]
		r.src = r.src[1:]
		return uint64(v)
	}
	v, length := binary.Uvarint(r.src)
	if length <= 0 {
		r.hasFailed = true
		return 0
	}
	r.src = r.src[length:]
	return v
}

func (r *seqReader) next() (seq uint64, more bool) {
	if r.n == 0 || r.hasFailed {
		return 0, false
	}
	r.n--
	distance := r.uvarint()
	if distance >= r.previous {
		r.hasFailed = true // there is no event 0
	}
	r.previous -= distance
	return r.previous, !r.hasFailed
}

// each calls fn with each hash of a row, in ascending order, until fn returns false.
func (k Key) each(value []byte, fn func(h Hash, seqs *seqReader) (more bool)) error {
	if len(value) < 2 || value[0] != rowForm {
		return ErrForm
	}
	r := seqReader{src: value[1:]}
	first := Hash(k.Bucket) << (hashBits - bucketBits)
	const storedBits = 8 * storedHash
	for len(r.src) > 0 {
		if len(r.src) < storedHash {
			return ErrForm
		}
		stored := Hash(r.src[0])<<32 | Hash(binary.BigEndian.Uint32(r.src[1:]))
		hash := first>>storedBits<<storedBits | stored
		r.src = r.src[storedHash:]
		r.n, r.previous = r.uvarint(), k.Last
		if r.n == 0 || hash.Bucket() != k.Bucket {
			return ErrForm
		}
		more := fn(hash, &r)
		for _, unread := r.next(); unread; {
			_, unread = r.next()
		}
		if r.hasFailed {
			return ErrForm
		}
		if !more {
			return nil
		}
	}
	return nil
}

// EncodeIndexed returns the row with the seq up to which all events are indexed.
func EncodeIndexed(seq uint64) (key, row []byte) {
	return Rows(), binary.AppendUvarint([]byte{rowForm}, seq)
}

// DecodeIndexed parses the row of EncodeIndexed.
func DecodeIndexed(row []byte) (seq uint64, err error) {
	if len(row) < 2 || row[0] != rowForm {
		return 0, ErrForm
	}
	seq, length := binary.Uvarint(row[1:])
	if length != len(row)-1 {
		return 0, ErrForm
	}
	return seq, nil
}

package search

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// rowKind is the first byte of the keys of this package's rows in an organization's key-value store. The row whose key is just
// this byte contains a seq: all events up to this seq are indexed.
const rowKind = 'f'

// rowFormat is the version of the rows' form, and the first byte of each row's value.
const rowFormat = 1

const (
	bucketBits = 10
	storedHash = 5 // number of bytes of a hash that are stored in the row's value; the key contains the first bits
	keyLength  = 1 + 2 + 8 + 2

	// MaxRowEntries is the maximum number of entries in a row. If a flush has more entries for a bucket, it writes several
	// rows.
	MaxRowEntries = 2048
)

// ErrFormat is the error for a row of the index that this package did not write.
var ErrFormat = errors.New("search: a row of an unknown form")

// IsRow tells whether the row with the key belongs to this package.
func IsRow(key []byte) bool { return len(key) > 0 && key[0] == rowKind }

// RowPrefix returns the common prefix of the keys of this package's rows.
func RowPrefix() []byte { return []byte{rowKind} }

// Bucket is the number of a bucket, and consists of the first bits of the hashes in the bucket.
type Bucket uint16

// Buckets is the number of buckets.
const Buckets = 1 << bucketBits

// Bucket returns the bucket to which the hash belongs.
func (h Hash) Bucket() Bucket { return Bucket(h >> (hashBits - bucketBits)) }

// RowPrefix returns the common prefix of the keys of the bucket's rows. The rows are ordered by flush. If a flush has written
// several rows, the row with the greatest hashes comes first.
func (b Bucket) RowPrefix() []byte { return binary.BigEndian.AppendUint16([]byte{rowKind}, uint16(b)) }

// Key is the key of a row with entries.
type Key struct {
	Bucket    Bucket
	Last      uint64 // seq of the last event that was indexed at the flush
	RowsAfter uint16 // number of rows with greater hashes that the same flush has written for the bucket
}

// Encode returns the key's bytes.
func (k Key) Encode() []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint64(k.Bucket.RowPrefix(), k.Last), k.RowsAfter)
}

// ParseKey parses the key of a row with entries.
func ParseKey(key []byte) (k Key, err error) {
	if len(key) != keyLength || key[0] != rowKind {
		return k, ErrFormat
	}
	k = Key{Bucket(binary.BigEndian.Uint16(key[1:])), binary.BigEndian.Uint64(key[3:]), binary.BigEndian.Uint16(key[11:])}
	if k.Bucket >= Buckets {
		return k, ErrFormat
	}
	return k, nil
}

// Entry is an entry of the index. It means that the transaction to which the event Seq belongs had a value whose hash is Hash.
type Entry struct {
	Hash Hash
	Seq  uint64 // of the event
}

// Compare orders entries by ascending hash. Entries with the same hash are ordered by descending seq.
func (e Entry) Compare(o Entry) int {
	return cmp.Or(cmp.Compare(e.Hash, o.Hash), cmp.Compare(o.Seq, e.Seq))
}

// Row is a stored row with entries of one bucket.
type Row struct {
	Key   Key
	Value []byte
}

// EncodeRows returns the rows for the entries that a flush has for a bucket. There must be at least one entry. last is the seq
// of the last indexed event, so no entry has a greater seq. EncodeRows sorts the entries and removes duplicates.
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

// encode returns the value of a row. After each hash come the number of entries with this hash, and their seqs in descending
// order. The first seq is stored as its difference from last, and each further seq as its difference from the seq before it.
func encode(last uint64, entries []Entry) []byte {
	dst := append(make([]byte, 0, 1+len(entries)*(storedHash+4)), rowFormat)
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

// Decode returns the entries of a row. If the value is malformed or its entries are not in order, the error is ErrFormat.
func Decode(key Key, value []byte) (entries []Entry, err error) {
	err = key.each(value, func(h Hash, seqs *seqReader) bool {
		for seq, more := seqs.next(); more; seq, more = seqs.next() {
			entries = append(entries, Entry{h, seq})
		}
		return true
	})
	for i := 1; i < len(entries) && err == nil; i++ {
		if entries[i-1].Compare(entries[i]) >= 0 {
			err = ErrFormat
		}
	}
	return entries, err
}

// Seqs appends the seqs of those entries in a row that have the given hash, the greatest seq first.
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

// seqReader decodes the seqs that follow one hash in a row.
type seqReader struct {
	src       []byte
	n         uint64 // number of seqs that are left
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
		r.hasFailed = true // the seq would be 0 or less, but the first event has seq 1
	}
	r.previous -= distance
	return r.previous, !r.hasFailed
}

// each calls fn with each hash of a row and a reader of the hash's seqs, until fn returns false. The hashes are in ascending
// order.
func (k Key) each(value []byte, fn func(h Hash, seqs *seqReader) (more bool)) error {
	if len(value) < 2 || value[0] != rowFormat {
		return ErrFormat
	}
	r := seqReader{src: value[1:]}
	first := Hash(k.Bucket) << (hashBits - bucketBits)
	const storedBits = 8 * storedHash
	for len(r.src) > 0 {
		if len(r.src) < storedHash {
			return ErrFormat
		}
		stored := Hash(r.src[0])<<32 | Hash(binary.BigEndian.Uint32(r.src[1:]))
		hash := first>>storedBits<<storedBits | stored
		r.src = r.src[storedHash:]
		r.n, r.previous = r.uvarint(), k.Last
		if r.n == 0 || hash.Bucket() != k.Bucket {
			return ErrFormat
		}
		more := fn(hash, &r)
		for _, unread := r.next(); unread; {
			_, unread = r.next()
		}
		if r.hasFailed {
			return ErrFormat
		}
		if !more {
			return nil
		}
	}
	return nil
}

// EncodePosition returns the row that records that all events up to the seq are indexed.
func EncodePosition(seq uint64) (key, row []byte) {
	return RowPrefix(), binary.AppendUvarint([]byte{rowFormat}, seq)
}

// DecodePosition returns the seq in a row that EncodePosition made.
func DecodePosition(row []byte) (seq uint64, err error) {
	if len(row) < 2 || row[0] != rowFormat {
		return 0, ErrFormat
	}
	seq, length := binary.Uvarint(row[1:])
	if length != len(row)-1 {
		return 0, ErrFormat
	}
	return seq, nil
}

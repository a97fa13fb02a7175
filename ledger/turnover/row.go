package turnover

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// rowKind is the first byte of the keys of this package's rows in an organization's key-value store. The row whose key is just
// this byte contains a Seq: all events up to this Seq are counted in the other rows.
const rowKind = 'v'

// rowFormat is the version of the rows' form, and the first byte of each row.
const rowFormat = 1

// keyLength is the length in bytes of the key of a row with a day's figures.
const keyLength = 1 + 1 + 8 + 4

// ErrFormat is the error for a row of turnover that this package did not write.
var ErrFormat = errors.New("turnover: a row of an unknown form")

// IsRow tells whether a row with this key belongs to this package.
func IsRow(key []byte) bool { return len(key) > 0 && key[0] == rowKind }

// RowPrefix returns the common prefix of the keys of this package's rows.
func RowPrefix() []byte { return []byte{rowKind} }

// PartnerRowPrefix returns the common prefix of the keys of the rows of a partner in an environment. If partner is 0, it
// returns the common prefix for all partners. The keys are ordered by partner and day.
func PartnerRowPrefix(env money.Env, partner int64) []byte {
	key := []byte{rowKind, byte(env)}
	if partner != 0 {
		key = binary.BigEndian.AppendUint64(key, uint64(partner))
	}
	return key
}

// Key returns the key of the row with the figures of this place.
func (p PartnerDay) Key() []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64([]byte{rowKind, byte(p.Env)}, uint64(p.Partner)), uint32(p.Day))
}

// ParseKey parses a key that PartnerDay.Key returned.
func ParseKey(key []byte) (p PartnerDay, err error) {
	if len(key) != keyLength || key[0] != rowKind || !money.Env(key[1]).IsValid() {
		return p, ErrFormat
	}
	return PartnerDay{money.Env(key[1]), int64(binary.BigEndian.Uint64(key[2:])), ledger.Date(binary.BigEndian.Uint32(key[10:]))}, nil
}

// EncodePosition returns the key and the bytes of the row that records that all events up to the Seq are counted.
func EncodePosition(seq uint64) (key, row []byte) {
	return RowPrefix(), binary.AppendUvarint([]byte{rowFormat}, seq)
}

// DecodePosition returns the Seq in a row that EncodePosition made.
func DecodePosition(row []byte) (seq uint64, err error) {
	r := reader{src: row}
	if r.byte() != rowFormat {
		return 0, ErrFormat
	}
	seq = r.uvarint()
	return seq, r.end()
}

// Row is the stored form of a partner's day. Seq is the journal number of the last event that the row counts.
type Row struct {
	Seq uint64
	Day Day
}

// Encode returns the row's bytes. Equal rows have the same bytes.
func (r *Row) Encode() []byte {
	dst := binary.AppendUvarint([]byte{rowFormat}, r.Seq)
	for _, key := range slices.SortedFunc(maps.Keys(r.Day), Key.Compare) {
		dst = append(dst, byte(key.Type))
		// The environment is in the row's key. The stored form of an asset also has a field for the environment. Here this
		// field is always Prod, and Decode ignores it.
		dst = money.Asset{Currency: key.Currency, Network: key.Network, Env: money.Prod}.AppendBinary(dst)
		dst = r.Day[key].append(dst)
	}
	return dst
}

// Compare orders keys by currency, network and type.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Currency, o.Currency), cmp.Compare(k.Network, o.Network), cmp.Compare(k.Type, o.Type))
}

// append appends the stored form of the figures: LastBooked, the sums, and the list of reasons for declined charges. The list
// contains the number of each reason's code and the count of charges. The number 255 ends the list.
func (f *Figures) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(f.LastBooked))
	for _, sum := range [...]*Sum{&f.Charges, &f.Refunds, &f.Chargebacks} {
		dst = sum.Amount.AppendBinary(binary.AppendUvarint(dst, sum.Count))
	}
	for i, n := range f.DeclineCounts {
		if n > 0 {
			dst = binary.AppendUvarint(append(dst, byte(i)), n)
		}
	}
	return append(dst, math.MaxUint8)
}

// Decode parses a row. Declined charges with unknown codes are counted as Other, so that this release can read rows that a
// later release wrote.
func Decode(row []byte) (*Row, error) {
	r := reader{src: row}
	if r.byte() != rowFormat {
		return nil, ErrFormat
	}
	decoded := &Row{Seq: r.uvarint(), Day: make(Day)}
	for !r.hasFailed && len(r.src) > 0 {
		key, f := Key{Type: payment.Type(r.byte())}, new(Figures)
		asset := r.asset()
		key.Currency, key.Network = asset.Currency, asset.Network
		f.LastBooked = ledger.Micros(r.uvarint())
		for _, sum := range [...]*Sum{&f.Charges, &f.Refunds, &f.Chargebacks} {
			*sum = Sum{r.uvarint(), r.amount()}
		}
		for i := int(r.byte()); i != math.MaxUint8 && !r.hasFailed; i = int(r.byte()) {
			if i >= len(f.DeclineCounts) {
				i = 0
			}
			f.DeclineCounts[i] += r.uvarint()
		}
		if decoded.Day[key] != nil {
			r.hasFailed = true
		}
		decoded.Day[key] = f
	}
	return decoded, r.end()
}

// reader parses a row. Once it finds an invalid part, hasFailed stays true, and all further reads return zero values.
type reader struct {
	src       []byte
	hasFailed bool
}

func (r *reader) end() error {
	if r.hasFailed || len(r.src) > 0 {
		return ErrFormat
	}
	return nil
}

func (r *reader) byte() (b byte) {
	if r.hasFailed = r.hasFailed || len(r.src) == 0; !r.hasFailed {
		b, r.src = r.src[0], r.src[1:]
	}
	return b
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.src)
	if r.hasFailed = r.hasFailed || n <= 0; r.hasFailed {
		return 0
	}
	r.src = r.src[n:]
	return v
}

func (r *reader) amount() (a money.Amount) { return read(r, money.ReadAmount) }

func (r *reader) asset() (a money.Asset) { return read(r, money.ReadAsset) }

func read[T any](r *reader, parse func([]byte) (T, []byte, error)) (v T) {
	if r.hasFailed {
		return v
	}
	var err error
	if v, r.src, err = parse(r.src); err != nil {
		r.hasFailed = true
	}
	return v
}

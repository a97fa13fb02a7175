package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// A checkpoint is what an organization's events since an earlier checkpoint have added to the totals of its accounts.
// It is stored as KVs (rows of key and value): a head, which describes the checkpoint; parts, which contain the
// accounts; and index rows, if there are so many parts that the head has no room for their list. An index row lists
// parts, or index rows of the height below. The head's key has the booked time of the checkpoint's event. The key of a
// part or an index row has the event's seq, the row's height (0: a part) and its number among the rows of that height.
// In the order of keys all heads come before all other rows, so that the heads can be read together.
const (
	kvCheckpointHeads = "th"
	kvCheckpointRows  = "tp"
)

// Bounds of a checkpoint's rows.
const (
	maxCheckpointRow    = 32 << 10 // maximum length in bytes of a part, an index row or the head's list, without its last item
	maxCheckpointHeight = 8        // a thousand accounts are in a part, and an index row lists hundreds of rows
)

// CheckpointID identifies a checkpoint by the event after which it was made.
type CheckpointID struct {
	Seq    uint64        // seq of the event; 0: no checkpoint
	Booked ledger.Micros // the event's booked time
}

// CheckpointHead describes a checkpoint. The checkpoint contains, for each account, what the organization's events
// after its base (an earlier checkpoint) and up to its own event have added to the totals. So the totals after the
// event are the sum of what the checkpoint, its base, the base's base and so on contain for the account.
type CheckpointHead struct {
	CheckpointID
	Previous      uint64       // seq of the previous checkpoint's event; 0: there is none
	Base          CheckpointID // Seq 0: there is none, so the checkpoint contains all accounts with their totals
	Accounts      uint64       // number of accounts that the checkpoint contains
	ChainAccounts uint64       // sum of Accounts of the checkpoint, its base, the base's base and so on
	Rows          uint64       // number of parts and index rows
	Height        int          // height of the rows in List; 0: they are parts
	List          []CheckpointItem
}

// CheckpointItem describes a part or an index row in the list of the row above it.
type CheckpointItem struct {
	First []byte   // AccountKey of the first account in the row, or in the parts below the row
	Sum   [32]byte // SHA-256 of the row
}

// IsCheckpoint tells whether the KV with the key belongs to a checkpoint.
func IsCheckpoint(key []byte) bool { return len(key) > 0 && key[0] == kvCheckpointHeads[0] }

// CheckpointHeads returns the prefix of the keys of all heads.
func CheckpointHeads() []byte { return []byte(kvCheckpointHeads) }

// CheckpointRows returns the prefix of the keys of all parts and index rows.
func CheckpointRows() []byte { return []byte(kvCheckpointRows) }

// CheckpointRowsOf returns the prefix of the keys of one checkpoint's parts and index rows.
func CheckpointRowsOf(seq uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte(kvCheckpointRows), seq)
}

// KeyCheckpointHead returns the key of a head's KV: th<booked time of the event>.
func KeyCheckpointHead(booked ledger.Micros) []byte {
	return binary.BigEndian.AppendUint64([]byte(kvCheckpointHeads), uint64(booked))
}

// KeyCheckpointRow returns the key of a part's or an index row's KV: tp<seq of the event><height><number, from 0>.
func KeyCheckpointRow(seq uint64, height, number int) []byte {
	return binary.BigEndian.AppendUint32(append(CheckpointRowsOf(seq), byte(height)), uint32(number))
}

// ParseCheckpointRow parses the key of a part or an index row.
func ParseCheckpointRow(key []byte) (seq uint64, height, number int, ok bool) {
	if len(key) != len(kvCheckpointRows)+8+1+4 || !bytes.HasPrefix(key, []byte(kvCheckpointRows)) {
		return 0, 0, 0, false
	}
	return binary.BigEndian.Uint64(key[2:]), int(key[10]), int(binary.BigEndian.Uint32(key[11:])), true
}

// AccountKey appends the key of an account in checkpoints. The keys of the account's pages contain the same
// bytes, so checkpoints and pages have the accounts in the same order.
func AccountKey(dst []byte, a ledger.Account) []byte { return accountKey(dst, a) }

// ParseAccountKey returns the account whose AccountKey is key.
func ParseAccountKey(key []byte) (ledger.Account, bool) {
	return ParsePagePrefix(append(orgKey(nil, prefixPage, ledger.ID{}), key...))
}

// checkpointForm is the first byte of a head's row.
const checkpointForm = 2

// EncodeCheckpointHead returns a head's row. It ends with a SHA-256, so that a changed head is not used.
func EncodeCheckpointHead(h *CheckpointHead) []byte {
	row := []byte{checkpointForm}
	for _, n := range [...]uint64{h.Seq, h.Previous, h.Base.Seq, uint64(h.Base.Booked), h.Accounts, h.ChainAccounts, h.Rows, uint64(h.Height)} {
		row = binary.AppendUvarint(row, n)
	}
	row = appendItems(row, h.List)
	sum := headSum(KeyCheckpointHead(h.Booked), row)
	return append(row, sum[:]...)
}

// headSum returns the SHA-256 of a head's key and its row without the sum.
func headSum(key, row []byte) [32]byte { return sha256.Sum256(slices.Concat(key, row)) }

// DecodeCheckpointHead parses a head's key and value. The result does not alias them.
func DecodeCheckpointHead(key, row []byte) (h CheckpointHead, err error) {
	end := max(0, len(row)-sha256.Size)
	if sum := headSum(key, row[:end]); !bytes.Equal(row[end:], sum[:]) {
		return h, fmt.Errorf("checkpoint %x: the head has another sum", key)
	}
	r := reader{src: bytes.Clone(row[:end])}
	if len(key) != len(kvCheckpointHeads)+8 || !bytes.HasPrefix(key, []byte(kvCheckpointHeads)) || r.byte() != checkpointForm {
		return h, fmt.Errorf("checkpoint %x: unknown form", key)
	}
	h.Booked = ledger.Micros(binary.BigEndian.Uint64(key[len(kvCheckpointHeads):]))
	h.Seq, h.Previous = r.uvarint(), r.uvarint()
	h.Base = CheckpointID{Seq: r.uvarint(), Booked: ledger.Micros(r.uvarint())}
	h.Accounts, h.ChainAccounts, h.Rows = r.uvarint(), r.uvarint(), r.uvarint()
	height := r.uvarint()
	h.Height = int(min(height, maxCheckpointHeight))
	h.List = r.items()
	if r.bad || height > maxCheckpointHeight || h.Previous >= h.Seq || h.Base.Seq > h.Previous || h.Base.Seq > 0 && h.Base.Booked >= h.Booked {
		return h, fmt.Errorf("checkpoint %x: cut short", key) // no event has the seq 0
	}
	return h, nil
}

func appendItems(row []byte, items []CheckpointItem) []byte {
	for i := range items {
		row = appendItem(row, &items[i])
	}
	return row
}

func appendItem(row []byte, item *CheckpointItem) []byte {
	row = binary.AppendUvarint(row, uint64(len(item.First)))
	return append(append(row, item.First...), item.Sum[:]...)
}

// items parses items up to the end. They alias the row.
func (r *reader) items() (items []CheckpointItem) {
	for !r.bad && len(r.src) > 0 {
		item := CheckpointItem{First: r.take(int(min(r.uvarint(), MaxKey)))}
		copy(item.Sum[:], r.take(len(item.Sum)))
		items = append(items, item)
	}
	return items
}

// DecodeCheckpointIndex parses an index row: the rows that it lists, which have the height below, and the number of
// the first of them. The items alias the row.
func DecodeCheckpointIndex(row []byte) (firstNumber int, items []CheckpointItem, err error) {
	r := reader{src: row}
	firstNumber, items = int(r.uvarint()), r.items()
	if r.bad || len(items) == 0 {
		return 0, nil, fmt.Errorf("checkpoint: an index row is cut short")
	}
	return firstNumber, items, nil
}

// CheckpointWriter builds a checkpoint's rows from accounts, which the caller adds in the order of their keys. It holds
// one part and one list of each height in memory.
type CheckpointWriter struct {
	Head     CheckpointHead
	RowBytes int                         // bound of a row's length in bytes; 0: maxCheckpointRow
	Write    func(key, row []byte) error // is called with each finished row except the head, and then owns the slices

	part, firstKey, lastKey []byte
	lists                   []checkpointList // of the rows of each height
}

// checkpointList lists rows of one height that are in no index row yet.
type checkpointList struct {
	items   []CheckpointItem
	bytes   int // length of the items in a row
	written int // number of rows of this height so far
}

// Add adds an account. A part stores for each account its movement (what was added to its totals), and its key without
// the beginning that the previous key in the part also has. Errors of Add and of Finish are those of Write.
func (w *CheckpointWriter) Add(key []byte, m *ledger.Movement) error {
	if len(w.part) >= w.rowBytes() {
		if err := w.finishPart(); err != nil {
			return err
		}
	}
	if len(w.part) == 0 {
		w.firstKey, w.lastKey = bytes.Clone(key), w.lastKey[:0]
	}
	shared := 0
	for shared < min(len(key), len(w.lastKey)) && key[shared] == w.lastKey[shared] {
		shared++
	}
	w.part = binary.AppendUvarint(w.part, uint64(shared))
	w.part = binary.AppendUvarint(w.part, uint64(len(key)-shared))
	w.part = append(w.part, key[shared:]...)
	w.part = appendMovement(w.part, m)
	w.lastKey = append(w.lastKey[:0], key...)
	w.Head.Accounts++
	return nil
}

func (w *CheckpointWriter) rowBytes() int { return cmp.Or(w.RowBytes, maxCheckpointRow) }

func (w *CheckpointWriter) finishPart() error {
	part := w.part
	w.part = nil
	return w.write(0, w.firstKey, part)
}

// write writes a row and puts it on the list of its height. If the list is long enough, it becomes an index row.
func (w *CheckpointWriter) write(height int, firstKey, row []byte) error {
	if len(w.lists) == height {
		w.lists = append(w.lists, checkpointList{})
	}
	list := &w.lists[height]
	if err := w.Write(KeyCheckpointRow(w.Head.Seq, height, list.written), row); err != nil {
		return err
	}
	w.Head.Rows++
	list.written++
	item := CheckpointItem{First: firstKey, Sum: sha256.Sum256(row)}
	list.items = append(list.items, item)
	list.bytes += len(appendItem(nil, &item))
	if list.bytes < w.rowBytes() {
		return nil
	}
	return w.writeIndex(height)
}

// writeIndex makes an index row of the list of rows of a height.
func (w *CheckpointWriter) writeIndex(height int) error {
	list := &w.lists[height]
	firstNumber, items := list.written-len(list.items), list.items
	list.items, list.bytes = nil, 0
	return w.write(height+1, items[0].First, appendItems(binary.AppendUvarint(nil, uint64(firstNumber)), items))
}

// Finish writes the remaining rows. Then Head is complete, and the caller writes it.
func (w *CheckpointWriter) Finish() error {
	if len(w.part) > 0 {
		if err := w.finishPart(); err != nil {
			return err
		}
	}
	for height := 0; height < len(w.lists); height++ {
		switch {
		case height+1 == len(w.lists):
			w.Head.Height, w.Head.List = height, w.lists[height].items
		case len(w.lists[height].items) > 0:
			if err := w.writeIndex(height); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendMovement appends a movement: a byte whose bits 0 to 3 tell which of the four members are not zero and whose
// bits 4 to 7 tell which of them are negative, and the magnitudes of those that are not zero.
func appendMovement(dst []byte, m *ledger.Movement) []byte {
	flags := len(dst)
	dst = append(dst, 0)
	for i, member := range [...]*money.Signed{&m.DebitsPosted, &m.CreditsPosted, &m.DebitsPending, &m.CreditsPending} {
		if member.IsZero() {
			continue
		}
		dst[flags] |= 1 << i
		if member.Negative {
			dst[flags] |= 1 << (4 + i)
		}
		dst = member.Abs.AppendBinary(dst)
	}
	return dst
}

func (r *reader) movement() (m ledger.Movement) {
	flags := r.byte()
	for i, member := range [...]*money.Signed{&m.DebitsPosted, &m.CreditsPosted, &m.DebitsPending, &m.CreditsPending} {
		isSet, isNegative := flags&(1<<i) != 0, flags&(1<<(4+i)) != 0
		if isSet {
			*member = money.Signed{Negative: isNegative, Abs: r.amount()}
		}
		if member.IsZero() && (isSet || isNegative) {
			r.bad = true // a movement has only one form
		}
	}
	return m
}

// CheckpointPart reads a part's accounts in order.
type CheckpointPart struct {
	Key      []byte // key of the current account, valid until Next is called again
	Movement ledger.Movement
	row      reader
}

// NewCheckpointPart begins to read a part's row.
func NewCheckpointPart(row []byte) *CheckpointPart { return &CheckpointPart{row: reader{src: row}} }

// Next reads the next account. It returns false after the last one.
func (p *CheckpointPart) Next() (bool, error) {
	r := &p.row
	if len(r.src) == 0 {
		return false, nil
	}
	shared := r.uvarint()
	suffix := r.take(int(min(r.uvarint(), MaxKey)))
	if r.bad || shared > uint64(len(p.Key)) {
		return false, fmt.Errorf("checkpoint: a part is cut short")
	}
	p.Key = append(p.Key[:shared], suffix...)
	if p.Movement = r.movement(); r.bad {
		return false, fmt.Errorf("checkpoint: a part is cut short")
	}
	return true, nil
}

// ParseShifted splits the key of a shifted line (whose effective day is not its booked day) into the account's
// key in checkpoints and the effective date. The account's key aliases key.
func ParseShifted(key []byte) (account []byte, effective ledger.Date, ok bool) {
	const dateSeqLine = 4 + 8 + 2 // bytes of the effective date, the seq and the line's index
	if effective, ok = ParseShiftedDate(key); !ok {
		return nil, 0, false
	}
	return key[1+16 : len(key)-dateSeqLine], effective, true
}

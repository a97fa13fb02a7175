package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// For each account of an organization, a checkpoint contains a sum: the amounts that the events since an earlier checkpoint
// have added to the account's totals. The sums of groups of accounts (see GroupSums) follow after all accounts, in the same
// format. A checkpoint is stored as several KVs (rows of key and value). The head describes the checkpoint. The parts contain
// the accounts. If the list of parts does not fit into the head, there are also index rows. An index row lists parts, or
// index rows that are one height lower. The head's key contains the booked time of the checkpoint's event. The key of a part
// or an index row contains the event's seq, the row's height (0 for a part), and the row's number among the rows of that
// height. In key order all heads come before all other rows, so that the heads can be read together.
const (
	kvCheckpointHeads = "th"
	kvCheckpointRows  = "tp"
)

// Limits of the rows of a checkpoint.
const (
	maxCheckpointRow    = 32 << 10 // maximum length in bytes of a part, an index row, or the list in a head, without the last item
	maxCheckpointHeight = 8        // never reached: a part has about a thousand accounts, and an index row lists hundreds of rows
)

// CheckpointID identifies a checkpoint by the event after which it was made.
type CheckpointID struct {
	Seq    uint64        // seq of the event; 0: no checkpoint
	Booked ledger.Micros // the event's booked time
}

// CheckpointHead describes a checkpoint. Base is an earlier checkpoint. For each account, the checkpoint contains the amounts
// that were added to the account's totals by the events after the base's event, up to the checkpoint's own event. So to get
// an account's totals after the checkpoint's event, a reader adds up the account's amounts in the checkpoint, in the base, in
// the base's base and so on.
type CheckpointHead struct {
	CheckpointID
	Previous      uint64       // seq of the event of the previous checkpoint; 0: there is none
	Base          CheckpointID // if its Seq is 0, there is no base, and the checkpoint contains all accounts with their totals
	Accounts      uint64       // number of accounts that the checkpoint contains, without groups
	ChainAccounts uint64       // sum of Accounts of the checkpoint, its base, the base's base and so on
	Rows          uint64       // number of parts and index rows
	Height        int          // height of the rows in List; 0: they are parts
	List          []CheckpointItem
}

// CheckpointItem describes a part or an index row in the list of the row above it.
type CheckpointItem struct {
	First []byte   // AccountKey of the first account in the part or, for an index row, in the parts below it
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

// AccountKey appends the key that an account has in checkpoints. The keys of the account's pages contain the same bytes, so
// the order of accounts is the same in checkpoints and in pages.
func AccountKey(dst []byte, a ledger.Account) []byte { return accountKey(dst, a) }

// ParseAccountKey returns the account whose AccountKey is key.
func ParseAccountKey(key []byte) (ledger.Account, bool) {
	return ParsePagePrefix(append(orgKey(nil, prefixPage, ledger.ID{}), key...))
}

// checkpointFormat is the first byte of a head's row.
const checkpointFormat = 3

// EncodeCheckpointHead returns the row of a head. The row ends with a SHA-256, so that readers detect a changed head.
func EncodeCheckpointHead(h *CheckpointHead) []byte {
	row := []byte{checkpointFormat}
	for _, n := range [...]uint64{h.Seq, h.Previous, h.Base.Seq, uint64(h.Base.Booked), h.Accounts, h.ChainAccounts, h.Rows, uint64(h.Height)} {
		row = binary.AppendUvarint(row, n)
	}
	row = appendItems(row, h.List)
	sum := headSum(KeyCheckpointHead(h.Booked), row)
	return append(row, sum[:]...)
}

// headSum returns the SHA-256 over a head's key and row. row must not include the SHA-256 at its end.
func headSum(key, row []byte) [32]byte { return sha256.Sum256(slices.Concat(key, row)) }

// DecodeCheckpointHead parses the key and the value of a head. The result shares no memory with them.
func DecodeCheckpointHead(key, row []byte) (h CheckpointHead, err error) {
	end := max(0, len(row)-sha256.Size)
	if sum := headSum(key, row[:end]); !bytes.Equal(row[end:], sum[:]) {
		return h, fmt.Errorf("checkpoint %x: the head has another sum", key)
	}
	r := reader{src: bytes.Clone(row[:end])}
	if len(key) != len(kvCheckpointHeads)+8 || !bytes.HasPrefix(key, []byte(kvCheckpointHeads)) || r.byte() != checkpointFormat {
		return h, fmt.Errorf("checkpoint %x: unknown form", key)
	}
	h.Booked = ledger.Micros(binary.BigEndian.Uint64(key[len(kvCheckpointHeads):]))
	h.Seq, h.Previous = r.uvarint(), r.uvarint()
	h.Base = CheckpointID{Seq: r.uvarint(), Booked: ledger.Micros(r.uvarint())}
	h.Accounts, h.ChainAccounts, h.Rows = r.uvarint(), r.uvarint(), r.uvarint()
	height := r.uvarint()
	h.Height = int(min(height, maxCheckpointHeight))
	h.List = r.items()
	if r.hasFailed || height > maxCheckpointHeight || h.Previous >= h.Seq || h.Base.Seq > h.Previous || h.Base.Seq > 0 && h.Base.Booked >= h.Booked {
		return h, fmt.Errorf("checkpoint %x: cut short", key) // this also refuses seq 0, which no event has
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

// items parses the rest of the row as a list of items. The items share the memory of the row.
func (r *reader) items() (items []CheckpointItem) {
	for !r.hasFailed && len(r.src) > 0 {
		item := CheckpointItem{First: r.take(int(min(r.uvarint(), MaxKey)))}
		copy(item.Sum[:], r.take(len(item.Sum)))
		items = append(items, item)
	}
	return items
}

// DecodeCheckpointIndex parses an index row. items describes the rows that the index row lists. These rows are one height
// lower. firstNumber is the number of the first of them. The items share the memory of the row.
func DecodeCheckpointIndex(row []byte) (firstNumber int, items []CheckpointItem, err error) {
	r := reader{src: row}
	firstNumber, items = int(r.uvarint()), r.items()
	if r.hasFailed || len(items) == 0 {
		return 0, nil, fmt.Errorf("checkpoint: an index row is cut short")
	}
	return firstNumber, items, nil
}

// CheckpointWriter builds the rows of a checkpoint from accounts, which the caller adds in the order of their keys. The
// writer itself computes the sums of groups. In memory it holds only one part, one list for each height, and the sums of
// groups.
type CheckpointWriter struct {
	Head     CheckpointHead
	RowBytes int                         // maximum length of a row in bytes; 0: maxCheckpointRow
	Write    func(key, row []byte) error // called with each finished row except the head; it may keep the slices

	part, firstKey, lastKey []byte
	lists                   []checkpointList // for each height, the rows that are in no index row yet
	groups                  GroupSums        // sums of the accounts so far
	groupKey                []byte           // buffer for the key of a group
}

// checkpointList lists those rows of one height that are in no index row yet.
type checkpointList struct {
	items   []CheckpointItem
	bytes   int // encoded length of items
	written int // number of rows of this height so far
}

// Add adds an account. A part contains each account's key and movement (the amounts that were added to the account's totals).
// If a key begins like the previous key in the part, the shared beginning is not stored again. Add and Finish return only
// errors of the function Write.
func (w *CheckpointWriter) Add(key []byte, m *ledger.Movement) error {
	if w.groups == nil {
		w.groups = make(GroupSums)
	}
	w.groupKey = GroupKey(w.groupKey[:0], key)
	w.groups.Add(w.groupKey, m)
	w.Head.Accounts++
	return w.add(key, m)
}

// add adds an account or a group.
func (w *CheckpointWriter) add(key []byte, m *ledger.Movement) error {
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
	return nil
}

func (w *CheckpointWriter) rowBytes() int { return cmp.Or(w.RowBytes, maxCheckpointRow) }

func (w *CheckpointWriter) finishPart() error {
	part := w.part
	w.part = nil
	return w.write(0, w.firstKey, part)
}

// write writes a row and adds it to the list of its height. When the list is long enough, write turns it into an index row.
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

// writeIndex writes the list of a height as an index row, and empties the list.
func (w *CheckpointWriter) writeIndex(height int) error {
	list := &w.lists[height]
	firstNumber, items := list.written-len(list.items), list.items
	list.items, list.bytes = nil, 0
	return w.write(height+1, items[0].First, appendItems(binary.AppendUvarint(nil, uint64(firstNumber)), items))
}

// Finish adds the groups and writes the remaining rows. After that, w.Head is complete, and the caller must write the head.
func (w *CheckpointWriter) Finish() error {
	for _, key := range w.groups.Keys() {
		if err := w.add([]byte(key), w.groups[key]); err != nil {
			return err
		}
	}
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

// appendMovement appends a movement: a byte with flags, and the magnitudes of the members that are not zero. Bits 0 to 3
// of the flags tell which of the four members are not zero, and bits 4 to 7 which of them are negative.
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
			r.hasFailed = true // appendMovement sets no flag for a zero
		}
	}
	return m
}

// CheckpointPart reads the accounts and groups of a part in order.
type CheckpointPart struct {
	Key      []byte // key of the current account or group, valid until Next is called again
	Movement ledger.Movement
	row      reader
}

// NewCheckpointPart returns a reader that begins at the first account of the part.
func NewCheckpointPart(row []byte) *CheckpointPart { return &CheckpointPart{row: reader{src: row}} }

// Next reads the next account or group. After the last one it returns false.
func (p *CheckpointPart) Next() (bool, error) {
	r := &p.row
	if len(r.src) == 0 {
		return false, nil
	}
	shared := r.uvarint()
	suffix := r.take(int(min(r.uvarint(), MaxKey)))
	if r.hasFailed || shared > uint64(len(p.Key)) {
		return false, fmt.Errorf("checkpoint: a part is cut short")
	}
	p.Key = append(p.Key[:shared], suffix...)
	if p.Movement = r.movement(); r.hasFailed {
		return false, fmt.Errorf("checkpoint: a part is cut short")
	}
	return true, nil
}

// GroupKeys is the first byte of every group's key in a checkpoint. The key of an account begins with an environment, which
// is a lower number. So all groups come after all accounts.
const GroupKeys = "\xff"

// GroupSums maps the keys of groups (see [ledger.Path.Group]) to their movements. A group has one key and one movement for
// each of its assets. The key is GroupKeys, followed by the AccountKey of the group's path and the asset.
type GroupSums map[string]*ledger.Movement

// GroupKey appends the key of an account's group. accountKey is the account's AccountKey.
func GroupKey(dst, accountKey []byte) []byte {
	end := max(0, bytes.IndexByte(accountKey, 0)) // end of the environment and the path
	group := bytes.IndexByte(accountKey[:end], ':') + 1
	group += bytes.IndexByte(accountKey[group:end], ':') + 1
	return append(append(append(dst, GroupKeys...), accountKey[:group]...), accountKey[end:]...)
}

// ParseGroupKey returns the path and the asset of the group with the key.
func ParseGroupKey(key []byte) (group ledger.Account, ok bool) {
	accountKey, isGroup := bytes.CutPrefix(key, []byte(GroupKeys))
	if !isGroup {
		return group, false
	}
	return ParseAccountKey(accountKey)
}

// OutOfRangeMovement stands for the movement of a group whose sum does not fit into an amount. The sums of the group's single
// accounts do fit. So a checkpoint can be made and the accounts can be read, but reading the sum of the group returns an
// error.
var OutOfRangeMovement = func() ledger.Movement {
	most := money.Signed{Abs: money.Max}
	return ledger.Movement{DebitsPosted: most, CreditsPosted: most, DebitsPending: most, CreditsPending: most}
}()

// Of returns the movement of the group with this key. If there is none, Of adds a zero movement.
func (s GroupSums) Of(key []byte) *ledger.Movement {
	m := s[string(key)]
	if m == nil {
		m = new(ledger.Movement)
		s[string(key)] = m
	}
	return m
}

// Add adds a movement to the movement of a group. Once a sum is OutOfRangeMovement, it stays OutOfRangeMovement.
func (s GroupSums) Add(key []byte, m *ledger.Movement) {
	sum := s.Of(key)
	if *sum == OutOfRangeMovement || *m == OutOfRangeMovement || sum.Add(m) != nil {
		*sum = OutOfRangeMovement
	}
}

// Keys returns the keys of the groups in order.
func (s GroupSums) Keys() []string { return slices.Sorted(maps.Keys(s)) }

// ParseShifted splits the key of a shifted line (a line whose effective day is not its booked day). account is the AccountKey
// of the line's account, and shares the memory of key. effective is the line's effective day.
func ParseShifted(key []byte) (account []byte, effective ledger.Date, ok bool) {
	const dateSeqLine = 4 + 8 + 2 // bytes of the effective date, the seq and the line's index
	if effective, ok = ParseShiftedDate(key); !ok {
		return nil, 0, false
	}
	return key[1+16 : len(key)-dateSeqLine], effective, true
}

package posting

import (
	"crypto/sha256"
	"encoding/binary"

	"mizan/ledger"
	"mizan/posting/store"
)

// RowKind is a kind of stored rows that belong to an organization. The queries in this file read all rows of a kind, for
// checkers and backups.
type RowKind byte

// Kinds of rows.
const (
	Blocks       RowKind = iota + 1 // events of the journal
	Trees                           // hashes of the journal's tree
	Pages                           // lines of accounts: postings with the totals after them
	ShiftedLines                    // lines whose effective day is not the booked day
	Records
	RecordParts // further rows of long records
	Claims
	Counters
	Lists
	SealedRows  // ciphertexts that are kept beside records for a while
	PageBuffers // accounts' lines and lists' rows that are not on a stored page yet
	KVs         // rows of key and value that belong to actors, and notices
)

// prefixLength is the length in bytes of the prefix that the keys of all rows of one kind and organization share: one byte
// for the kind, and the organization's id.
const prefixLength = 1 + 16

// prefix returns the common prefix of the keys of the organization's rows of this kind.
func (k RowKind) prefix(org ledger.ID) []byte {
	var key []byte
	switch k {
	case Blocks:
		key = store.KeyBlocks(nil, org)
	case Trees:
		key = store.KeyTreeRows(nil, org)
	case Pages:
		key = store.KeyPages(nil, org, ledger.Account{})
	case ShiftedLines:
		key = store.KeyShifts(nil, org, ledger.Account{})
	case Records:
		key = store.KeyRecords(nil, org, 0)
	case RecordParts:
		key = store.KeyPart(nil, org, ledger.Source{}, 0)
	case Claims:
		key = store.KeyClaims(nil, org, 0)
	case Counters:
		key = store.KeyCounters(nil, org)
	case Lists:
		key = store.KeyListPages(nil, org, ledger.List{})
	case SealedRows:
		key = store.KeySealeds(nil, org)
	case PageBuffers:
		key = store.KeyBuffer(nil, org)
	case KVs:
		key = store.KeyKV(nil, org, nil)
	}
	return key[:prefixLength]
}

// Rows calls fn with all stored rows of one kind that belong to an organization, in the order of keys.
// Checkers use it. The slices are valid until fn returns.
func (v *View) Rows(org ledger.ID, kind RowKind, fn func(key, row []byte) (more bool, err error)) error {
	return v.snap.Ascend(kind.prefix(org), nil, fn)
}

// RowsWith calls fn with all stored rows whose keys begin with prefix, in the order of their keys. It is for rows that belong
// to no organization. The slices are valid until fn returns.
func (v *View) RowsWith(prefix []byte, fn func(key, row []byte) (more bool, err error)) error {
	return v.snap.Ascend(prefix, nil, fn)
}

// LinesAscending calls fn with an account's lines, oldest first.
func (v *View) LinesAscending(org ledger.ID, a ledger.Account, fn func(*Line) (more bool, err error)) error {
	more := true
	each := func(page []byte) error {
		return store.DecodePage(page, func(l *Line) (bool, error) {
			var err error
			more, err = fn(l)
			return more, err
		})
	}
	prefix := store.KeyPages(nil, org, a)
	err := v.snap.Ascend(prefix, nil, func(_, page []byte) (bool, error) {
		err := each(page)
		return more, err
	})
	if err != nil || !more {
		return err
	}
	lines, err := v.bufferedLines(prefix)
	if err != nil {
		return err
	}
	return each(lines)
}

// OrganizationsWith calls fn with every organization that has rows of the kind, even if the
// organization has no other row.
func (v *View) OrganizationsWith(kind RowKind, fn func(ledger.ID) (more bool, err error)) error {
	return v.snap.AscendKeys(kind.prefix(ledger.ID{})[:1], nil, func(key []byte) ([]byte, bool, error) {
		if len(key) < prefixLength {
			return nil, false, damaged("a row with key %x", key)
		}
		org := ledger.ID(key[1:prefixLength])
		next := store.After(kind.prefix(org))
		more, err := fn(org)
		return next, more, err
	})
}

// DueItems calls fn with every item of every due row. A due row has the records that one group makes due in one second. Stale
// items are included: those whose records have another due instant by now. The returned mark is the low-water mark, a second:
// due rows of earlier seconds are never read.
func (v *View) DueItems(fn func(second int64, item Item)) (mark int64, err error) {
	row, found, err := v.snap.Get(store.KeyLowWaterMark, nil)
	if err == nil && found {
		mark, err = store.DecodeLowWaterMark(row)
	}
	if err != nil {
		return 0, err
	}
	return mark, v.snap.Ascend(store.KeyDues(nil), nil, func(key, row []byte) (bool, error) {
		second, _, ok := store.ParseDueKey(key)
		if !ok {
			return false, damaged("due row with key %x", key)
		}
		return true, store.DecodeDues(row, func(item Item) { fn(second, item) })
	})
}

// GroupRow is the permanent row of one group (the changes that became durable together).
type GroupRow struct {
	N        uint64
	Previous [32]byte // hash of the previous group's row
	Hash     [32]byte
}

// Form of the store's group rows. The key is 'g' and the group's number. The value has the number, the hash of the previous
// group's row, the hash of the group's rows, and their size in bytes.
const (
	groupKind = 'g'
	groupSize = 8 + 32 + 32 + 8
)

// Groups calls fn with the row of every group, in the order of the groups.
func (v *View) Groups(fn func(GroupRow) (more bool, err error)) error {
	return v.snap.Ascend([]byte{groupKind}, nil, func(key, row []byte) (bool, error) {
		if len(key) != 1+8 || len(row) != groupSize || string(row[:8]) != string(key[1:]) {
			return false, damaged("group row with key %x", key)
		}
		return fn(GroupRow{N: binary.BigEndian.Uint64(row), Previous: [32]byte(row[8:40]), Hash: sha256.Sum256(row)})
	})
}

// StoredRow is a row as the store keeps it, with the number of the group that wrote it.
type StoredRow = store.StoredRow

// StoredRows calls fn with the rows of which a backup of this view consists, in the order of their keys. It begins with the
// first key ≥ from; if from is nil, with the first key of all. If since is not 0, fn gets only the rows written after the
// group since, and all rows of kinds that can be removed. The slices are valid until fn returns.
func (v *View) StoredRows(from []byte, since uint64, fn func(StoredRow) (more bool, err error)) error {
	return v.snap.StoredRows(from, since, fn)
}

// LastGroup returns the number and the hash of the last group in the view. For a store without groups both are zero.
func (v *View) LastGroup() (n uint64, hash [32]byte, err error) {
	n = v.snap.GroupNumber()
	if n == 0 {
		return 0, hash, nil
	}
	hash, found, err := v.GroupHash(n)
	if err == nil && !found {
		err = damaged("group %d is missing", n)
	}
	return n, hash, err
}

// GroupHash returns the hash of group n, which the row of the next group contains; false if there is no group n.
func (v *View) GroupHash(n uint64) (hash [32]byte, found bool, err error) {
	row, found, err := v.snap.Get(store.KeyGroup(n), nil)
	if err != nil || !found {
		return hash, false, err
	}
	return sha256.Sum256(row), true, nil
}

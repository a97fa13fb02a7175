package posting

import (
	"crypto/sha256"
	"encoding/binary"

	"mizan/ledger"
	"mizan/posting/store"
)

// RowKind is a kind of stored row that belongs to an organization. The queries in this file read whole kinds of rows,
// for checkers and backups.
type RowKind byte

// Kinds of rows.
const (
	Blocks       RowKind = iota + 1 // the journal
	Trees                           // hashes of the journal
	Pages                           // lines of accounts, with running totals
	ShiftedLines                    // lines with an effective day other than the booked day
	Records
	RecordParts // further rows of long records
	Claims
	Counters
	Lists
	SealedRows  // ciphertexts that are kept beside records for a while
	PageBuffers // accounts' lines and lists' rows that are not on a stored page yet
	KVs         // actors' own rows, and notices
)

// prefixLength is the length of what the keys of one kind and organization have in common: the kind of row and
// the organization.
const prefixLength = 1 + 16

// prefix returns the common part of the keys of an organization's rows of the kind.
func (k RowKind) prefix(org ledger.ID) []byte {
	var key []byte
	switch k {
	case Blocks:
		key = store.KeyBlocks(nil, org)
	case Trees:
		key = store.KeyTrees(nil, org)
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
		key = store.KeyLists(nil, org, ledger.List{})
	case SealedRows:
		key = store.KeySealeds(nil, org)
	case PageBuffers:
		key = store.KeyBuffer(nil, org)
	case KVs:
		key = store.KeyKV(nil, org, nil)
	}
	return key[:prefixLength]
}

// Rows calls fn with every stored row of a kind of an organization, in the order of keys.
// Checkers use it. The slices are valid until fn returns.
func (v *View) Rows(org ledger.ID, kind RowKind, fn func(key, row []byte) (more bool, err error)) error {
	return v.snap.Ascend(kind.prefix(org), nil, fn)
}

// RowsWith is Rows for rows without an organization: all rows whose keys begin with prefix.
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

// DueItems calls fn with every item of every due row (the records that are due in one second), including stale items,
// whose records have another due instant by now. It returns the low-water mark, a second: no reader uses due rows of
// earlier seconds.
func (v *View) DueItems(fn func(second int64, item Item)) (mark int64, err error) {
	row, found, err := v.snap.Get(store.KeyMark, nil)
	if err == nil && found {
		mark, err = store.DecodeMark(row)
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
	Previous [32]byte // hash of the group before
	Hash     [32]byte
}

// groupKind and groupSize describe the store's group rows. Key: 'g' and the number.
// Value: the number, the previous hash, the hash of the rows, their size in bytes.
const (
	groupKind = 'g'
	groupSize = 8 + 32 + 32 + 8
)

// Groups calls fn with every group row in order.
func (v *View) Groups(fn func(GroupRow) (more bool, err error)) error {
	return v.snap.Ascend([]byte{groupKind}, nil, func(key, row []byte) (bool, error) {
		if len(key) != 1+8 || len(row) != groupSize || string(row[:8]) != string(key[1:]) {
			return false, damaged("group row with key %x", key)
		}
		return fn(GroupRow{N: binary.BigEndian.Uint64(row), Previous: [32]byte(row[8:40]), Hash: sha256.Sum256(row)})
	})
}

// StoredRow is a row in its stored form, with the group that wrote it.
type StoredRow = store.StoredRow

// StoredRows calls fn with the rows of a backup of this moment, by ascending key, beginning with the first key
// ≥ from (nil: with the first of all). If since is not 0, it calls fn only with rows written after the group
// since, and with all rows of the kinds that can be removed. The slices are valid until fn returns.
func (v *View) StoredRows(from []byte, since uint64, fn func(StoredRow) (more bool, err error)) error {
	return v.snap.StoredRows(from, since, fn)
}

// LastGroup returns the number and hash of the last group in the view; 0 and zeros for a store
// without groups.
func (v *View) LastGroup() (n uint64, hash [32]byte, err error) {
	n = v.snap.Group()
	if n == 0 {
		return 0, hash, nil
	}
	hash, found, err := v.GroupHash(n)
	if err == nil && !found {
		err = damaged("group %d is missing", n)
	}
	return n, hash, err
}

// GroupHash returns the hash of a group, to which the next group is chained; false if there is
// no group with that number.
func (v *View) GroupHash(n uint64) (hash [32]byte, found bool, err error) {
	row, found, err := v.snap.Get(store.KeyGroup(n), nil)
	if err != nil || !found {
		return hash, false, err
	}
	return sha256.Sum256(row), true, nil
}

package posting

import (
	"crypto/sha256"
	"encoding/binary"

	"mizan/ledger"
	"mizan/posting/store"
)

// RowKind is a kind of stored rows. Each row of these kinds belongs to an organization. Checkers and backups use the queries in
// this file to read all rows of a kind.
type RowKind byte

// Kinds of rows.
const (
	Blocks       RowKind = iota + 1 // events of the journal
	Trees                           // hashes of the journal's hash tree
	Pages                           // lines of accounts: postings with the totals after them
	ShiftedLines                    // lines whose effective day is not their booked day
	Records
	RecordParts // further rows of records that are too long for one row
	Claims
	Counters
	Lists
	SealedRows  // ciphertexts that are stored beside records for a limited time
	PageBuffers // lines of accounts and rows of lists that are not on a stored page yet
	KVs         // key-value rows that belong to actors, and rows of notices
)

// prefixLength is the length in bytes of a prefix that is common to the keys of all rows of one kind and one organization. The
// prefix consists of one byte for the kind, and the organization's id.
const prefixLength = 1 + 16

// prefix returns the common prefix of the keys of all rows of this kind that belong to the organization.
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

// RowsWith calls fn with all stored rows whose keys begin with prefix, in the order of their keys. It is for kinds of rows that
// do not belong to an organization. The slices are valid until fn returns.
func (v *View) RowsWith(prefix []byte, fn func(key, row []byte) (more bool, err error)) error {
	return v.snap.Ascend(prefix, nil, fn)
}

// LinesAscending calls fn with the lines of an account, the oldest first.
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

// OrganizationsWith calls fn with every organization that has at least one row of the kind.
func (v *View) OrganizationsWith(kind RowKind, fn func(ledger.ID) (more bool, err error)) error {
	return v.snap.AscendKeys(kind.prefix(ledger.ID{})[:1], nil, func(key []byte) ([]byte, bool, error) {
		if len(key) < prefixLength {
			return nil, false, damaged("a row with key %x", key)
		}
		org := ledger.ID(key[1:prefixLength])
		next := store.After(kind.prefix(org))
		if isHidden, err := v.hides(org); isHidden || err != nil {
			return next, true, err
		}
		more, err := fn(org)
		return next, more, err
	})
}

// DueItems calls fn with every item of every due row. A due row contains an item for each record that one group makes due in
// one second. Stale items are included, that is, items whose records have another due instant by now. DueItems returns the
// low-water mark, which is a second: due rows of earlier seconds are never read again.
func (v *View) DueItems(fn func(second int64, item DueItem)) (mark int64, err error) {
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
		return true, store.DecodeDues(row, func(item DueItem) { fn(second, item) })
	})
}

// GroupRow is the row that is stored for each group (the changes that became durable together) and never removed.
type GroupRow struct {
	N        uint64
	Previous [32]byte // hash of the previous group's row
	Hash     [32]byte
}

// Form of the row of a group. The key is 'g', followed by the group's number. The value consists of the number, the hash of the
// previous group's row, the hash of the rows that the group has written, and the size of these rows in bytes.
const (
	groupKind = 'g'
	groupSize = 8 + 32 + 32 + 8
)

// Groups calls fn with the row of every group, in the order of the groups' numbers.
func (v *View) Groups(fn func(GroupRow) (more bool, err error)) error {
	return v.snap.Ascend([]byte{groupKind}, nil, func(key, row []byte) (bool, error) {
		if len(key) != 1+8 || len(row) != groupSize || string(row[:8]) != string(key[1:]) {
			return false, damaged("group row with key %x", key)
		}
		return fn(GroupRow{N: binary.BigEndian.Uint64(row), Previous: [32]byte(row[8:40]), Hash: sha256.Sum256(row)})
	})
}

// StoredRow is a row in the store, together with the number of a group since which the row has not changed.
type StoredRow = store.StoredRow

// StoredRows calls fn with the rows that a backup of this view contains, in the order of their keys. It begins with the first
// key ≥ from, or with the first key of all if from is nil. If since is 0, these are all rows. Otherwise they are the rows that
// were written after the group with the number since, and all rows of kinds that can be removed. The slices are valid until fn
// returns.
func (v *View) StoredRows(from []byte, since uint64, fn func(StoredRow) (more bool, err error)) error {
	return v.snap.StoredRows(from, since, fn)
}

// LastGroup returns the number and the hash of the last group in the view. If the store has no groups, both are zero.
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

// GroupHash returns the hash of the row of group n. The row of group n+1 contains this hash. If there is no group n, found is
// false.
func (v *View) GroupHash(n uint64) (hash [32]byte, found bool, err error) {
	row, found, err := v.snap.Get(store.KeyGroup(n), nil)
	if err != nil || !found {
		return hash, false, err
	}
	return sha256.Sum256(row), true, nil
}

package store

import (
	"bytes"
	"encoding/binary"

	"mizan/ledger"
)

// PlacementState says whether a store has an organization. Only a store of a cluster's shard has rows with such a state, and
// only about organizations that have moved or were to move.
type PlacementState byte

// States of an organization in one store.
const (
	// Here: the organization belongs to this store. An organization without a placement row belongs to the store, too.
	Here PlacementState = iota
	// Leaving: the organization's rows are complete and do not change, and it is not known yet whether the other store has
	// taken the organization over.
	Leaving
	// Left: the organization belongs to another store. Its rows in this store are those of the moment when it left.
	Left
	// Arriving: the rows of the organization are being copied from another store.
	Arriving
	// Abandoned: such a copy was given up. The copied rows mean nothing.
	Abandoned

	placementStates // number of states
)

var placementNames = [placementStates]string{"here", "leaving", "left", "arriving", "abandoned"}

// String returns the state's name.
func (s PlacementState) String() string { return placementNames[s] }

// Placement is an organization's state in a store.
type Placement struct {
	State PlacementState
	Shard int       // the other shard
	Move  ledger.ID // identifies the move
	Order MoveOrder // of the move
}

// MoveOrder tells which of two moves of an organization from the same shard is later: the leader's term, and then the number of the
// shard's last group when the move began.
type MoveOrder struct{ Term, Group uint64 }

// Before tells whether the move was earlier than another.
func (o MoveOrder) Before(other MoveOrder) bool {
	return o.Term < other.Term || o.Term == other.Term && o.Group < other.Group
}

// KeyPlacement appends the key of an organization's placement: kind of row, org.
func KeyPlacement(dst []byte, org ledger.ID) []byte { return orgKey(dst, prefixPlacement, org) }

// KeyPlacements appends the common prefix of the keys of all placements.
func KeyPlacements(dst []byte) []byte { return append(dst, prefixPlacement) }

// ParsePlacementKey returns the organization in the key of a placement.
func ParsePlacementKey(key []byte) (org ledger.ID, ok bool) {
	if len(key) != 1+16 || key[0] != prefixPlacement {
		return org, false
	}
	return ledger.ID(key[1:]), true
}

const placementSize = 1 + 2 + 16 + 2*8

// EncodePlacement appends the row of a placement.
func EncodePlacement(dst []byte, p Placement) []byte {
	dst = binary.BigEndian.AppendUint16(append(dst, byte(p.State)), uint16(p.Shard))
	dst = append(dst, p.Move[:]...)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, p.Order.Term), p.Order.Group)
}

// DecodePlacement parses the row of a placement.
func DecodePlacement(row []byte) (p Placement, ok bool) {
	if len(row) != placementSize || row[0] >= byte(placementStates) {
		return p, false
	}
	order := MoveOrder{binary.BigEndian.Uint64(row[19:]), binary.BigEndian.Uint64(row[27:])}
	return Placement{PlacementState(row[0]), int(binary.BigEndian.Uint16(row[1:])), ledger.ID(row[3:19]), order}, true
}

// movedKinds lists, in ascending order, the kinds of rows that move with an organization. Due rows and page-buffer rows do not,
// because their keys have the numbers of this store's groups.
var movedKinds = []byte{
	prefixBlock, prefixClaim, prefixList, prefixCounter, prefixPage, prefixPart, prefixRecord, prefixShifted, prefixTree, prefixKV, prefixSealed,
}

// MovesWith tells whether the row with this key moves with the organization.
func MovesWith(org ledger.ID, key []byte) bool {
	return len(key) > 1+16 && bytes.IndexByte(movedKinds, key[0]) >= 0 && bytes.Equal(key[1:17], org[:])
}

// IsRecordKey tells whether the key is that of a record's first row.
func IsRecordKey(key []byte) bool { return len(key) > 0 && key[0] == prefixRecord }

// OrganizationRows calls fn with the rows that move with an organization, in ascending order of their keys, until fn returns
// false. It begins with the first key ≥ from. If since is not 0, it leaves out the rows that were not written after group since.
// Removed rows are left out. The slices are valid until fn returns. See StoredRows about reading many rows.
func (sn *Snapshot) OrganizationRows(org ledger.ID, since uint64, from []byte, fn func(key, value []byte) (more bool, err error)) error {
	if err := sn.checkReadable(); err != nil {
		return err
	}
	afterVersion := uint64(0)
	if since > 0 {
		afterVersion = lastVersion(since)
	}
	for _, kind := range movedKinds {
		prefix := orgKey(nil, kind, org)
		if bytes.Compare(from, After(orgKey(nil, kind, org))) >= 0 {
			continue
		}
		more, err := sn.visitRows(prefix, from, afterVersion, ignoreDeletion, func(r StoredRow) (bool, error) {
			return fn(r.Key, r.Stored[:len(r.Stored)-checksumSize])
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

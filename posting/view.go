package posting

import (
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
)

// View answers queries about the state that was durable when the view was opened. Only one goroutine may use a View, and the
// caller must close it.
type View struct {
	snap           *store.Snapshot
	clock          clock.Clock
	oldestBuffered uint64               // no group before this one has page-buffer rows (see pageBuffer)
	placements     *placements          // organizations that are elsewhere are left out; nil: they are not
	bufferIndex    *bufferIndex         // lines of the page buffer in memory; if nil, the view reads them from the store
	buffers        map[ledger.ID]chunks // page buffers that the view has read from the store
	blockOrg       ledger.ID
	block          store.BlockRow // the last block (row of consecutive events of blockOrg) that the view has read
}

// View opens a view of everything that is durable now.
func (j *Journal) View() *View {
	// The value is loaded before the snapshot is taken. A later value could exclude rows that a reader of the snapshot needs.
	oldestBuffered := j.oldestBuffered.Load()
	return &View{snap: j.store.Snapshot(), clock: j.clock, oldestBuffered: oldestBuffered, bufferIndex: j.bufferIndex, placements: &j.placements}
}

// StoredView opens a View that reads everything from the store and nothing from the writer's memory. Checkers use StoredView.
func (j *Journal) StoredView() *View {
	v := j.View()
	v.bufferIndex, v.placements = nil, nil
	return v
}

// ReadsStoreOnly tells whether the view reads nothing from the writer's memory.
func (v *View) ReadsStoreOnly() bool { return v.bufferIndex == nil }

// Now returns the current business time.
func (v *View) Now() ledger.Micros { return ledger.MicrosOf(v.clock.Now()) }

// Close ends the view.
func (v *View) Close() { v.snap.Close() }

// Record is a stored record. Header contains the fields that the writer stores beside the payload, such as the version.
type Record struct {
	Header  RecordHeader
	Payload []byte
}

// Line is a posting on an account, with the totals of the account after the posting.
type Line = store.Line

// ListRow is a row of a list. It refers to a record that was added to the list or changed.
type ListRow = store.ListRow

// Record returns a record. If there is no such record, it returns false.
func (v *View) Record(org ledger.ID, s ledger.Source) (Record, bool, error) {
	row, found, err := v.snap.Get(store.KeyRecord(nil, org, s), nil)
	if err != nil || !found {
		return Record{}, false, err
	}
	stamp, payload, ok := store.DecodeRecord(row)
	if !ok {
		return Record{}, false, damaged("record %v: unknown form", s.ID)
	}
	payload, err = v.joinParts(org, s, stamp, payload)
	return Record{Header: RecordHeader(stamp), Payload: payload}, err == nil, err
}

// StoredRecord returns the stored bytes of a record: the record's row, followed by the further rows of a long payload. The
// record's last event contains the SHA-256 of these bytes.
func (v *View) StoredRecord(org ledger.ID, s ledger.Source) ([]byte, bool, error) {
	row, found, err := v.snap.Get(store.KeyRecord(nil, org, s), nil)
	if err != nil || !found {
		return nil, false, err
	}
	stamp, _, ok := store.DecodeRecord(row)
	if !ok {
		return nil, false, damaged("record %v: unknown form", s.ID)
	}
	row, err = v.joinParts(org, s, stamp, row)
	return row, err == nil, err
}

// joinParts returns payload, followed by the further rows of the record if there are any.
func (v *View) joinParts(org ledger.ID, s ledger.Source, stamp store.RecordHeader, payload []byte) ([]byte, error) {
	if stamp.FurtherRows == 0 {
		return payload, nil
	}
	payload = append([]byte(nil), payload...)
	for n := uint64(1); n <= stamp.FurtherRows; n++ {
		part, found, err := v.snap.Get(store.KeyPart(nil, org, s, n), nil)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, damaged("record %v: part %d is missing", s.ID, n)
		}
		payload = append(payload, part...)
	}
	return payload, nil
}

// Records calls fn with every record of one kind in an organization, in the order of ids. The ids of transactions are compared
// in a form that is ordered by time (see ledger.OrderedID). The payload is valid until fn returns.
func (v *View) Records(org ledger.ID, kind ledger.Kind, fn func(ledger.ID, Record) (more bool, err error)) error {
	return v.snap.Ascend(store.KeyRecords(nil, org, kind), nil, func(key, row []byte) (bool, error) {
		_, s, ok := store.ParseRecordKey(key)
		stamp, payload, decoded := store.DecodeRecord(row)
		if !ok || !decoded {
			return false, damaged("record with key %x: unknown form", key)
		}
		payload, err := v.joinParts(org, s, stamp, payload)
		if err != nil {
			return false, err
		}
		return fn(s.ID, Record{Header: RecordHeader(stamp), Payload: payload})
	})
}

// SealedRow returns the ciphertext in the record's sealed row. If there is no such row, it returns false.
func (v *View) SealedRow(org ledger.ID, s ledger.Source) ([]byte, bool, error) {
	return v.snap.Get(store.KeySealed(nil, org, s), nil)
}

// SealedRows calls fn with every sealed row of an organization, in the order of the kinds and ids of the rows' records. The ids
// of transactions are compared in a form that is ordered by time (see ledger.OrderedID). The row is valid until fn returns.
func (v *View) SealedRows(org ledger.ID, fn func(s ledger.Source, sealed []byte) (more bool, err error)) error {
	return v.snap.Ascend(store.KeySealeds(nil, org), nil, func(key, row []byte) (bool, error) {
		s, ok := store.ParseSealedKey(key)
		if !ok {
			return false, damaged("sealed row with key %x", key)
		}
		return fn(s, row)
	})
}

// Organizations calls fn with every organization that has records, including the platform itself, whose id is the nil UUID.
func (v *View) Organizations(fn func(ledger.ID) (more bool, err error)) error {
	return v.snap.AscendKeys(store.KeyAllRecords(nil), nil, func(key []byte) ([]byte, bool, error) {
		org, _, ok := store.ParseRecordKey(key)
		if !ok {
			return nil, false, damaged("record with key %x", key)
		}
		next := store.After(store.KeyRecords(nil, org, 0xff))
		if isHidden, err := v.hides(org); isHidden || err != nil {
			return next, true, err
		}
		more, err := fn(org)
		return next, more, err
	})
}

// Claim returns the owner of a unique key. If the key is free, it returns false.
func (v *View) Claim(org ledger.ID, kind ledger.ClaimKind, key string) ([]byte, bool, error) {
	return v.snap.Get(store.KeyClaim(nil, org, kind, key), nil)
}

// Counter returns the amount of a counter, which is zero if the counter is not stored.
func (v *View) Counter(org ledger.ID, key, window string) (money.Amount, error) {
	row, found, err := v.snap.Get(store.KeyCounter(nil, org, key, window), nil)
	if err != nil || !found {
		return money.Amount{}, err
	}
	return store.DecodeAmount(row)
}

// ListRange selects rows of a list by their booked times, ListRow.Booked.
//
// No two rows of a list have the same Booked, so a walk can continue exactly where another walk ended. The row that a record's
// creation adds has the booked time of the last event of the Step that created the record. Header.StartedAt of the record is
// the booked time of the first event of that Step, which is at most MaxEvents microseconds earlier. The order of such rows is
// also the order of StartedAt. To find all records with StartedAt in a window, a caller must extend the walk by MaxEvents
// microseconds, and check StartedAt of each record.
type ListRange struct {
	From          ledger.Micros // inclusive
	Before        ledger.Micros // exclusive; 0: no upper bound
	OnlyCreations bool          // only rows that were added when a record was created
}

// List calls fn with the rows of a list that w selects, the newest first. A record that was listed several times has several
// rows. A caller that wants records in the order of their last change must ignore each row whose Booked is not the record's
// RecordHeader.UpdatedAt. The time that List takes is proportional to the number of all rows between the bounds of the walk,
// even with OnlyCreations.
func (v *View) List(org ledger.ID, l ledger.List, w ListRange, fn func(ListRow) (more bool, err error)) error {
	if w.Before < 0 {
		return nil // nothing is booked before 1970, and times in keys are unsigned
	}
	var from []byte
	if w.Before != 0 {
		from = store.KeyListPage(nil, org, l, w.Before-1)
	}
	var rows []ListRow
	return v.descend(store.KeyListPages(nil, org, l), from, func(page []byte) (more bool, err error) {
		if rows, err = store.AppendListed(rows[:0], page); err != nil {
			return false, err
		}
		for i := len(rows) - 1; i >= 0; i-- {
			row := rows[i]
			if row.Booked < w.From {
				return false, nil
			}
			if w.Before != 0 && row.Booked >= w.Before || w.OnlyCreations && !row.IsCreation {
				continue
			}
			if more, err := fn(row); err != nil || !more {
				return false, err
			}
		}
		return true, nil
	})
}

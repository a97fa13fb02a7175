package posting

import (
	"bytes"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
)

// Totals returns the current running totals of an account. If the account has no posting, they are zero.
func (v *View) Totals(org ledger.ID, a ledger.Account) (ledger.Totals, error) {
	t, _, err := v.TotalsAt(org, a, maxMicros)
	return t, err
}

// TotalsAt returns the running totals that an account had at an instant: everything that was booked at or before the instant is
// included. If nothing was booked on the account by then, found is false.
func (v *View) TotalsAt(org ledger.ID, a ledger.Account, at ledger.Micros) (t ledger.Totals, found bool, err error) {
	err = v.descend(store.KeyPages(nil, org, a), store.KeyPage(nil, org, a, at), func(page []byte) (bool, error) {
		err := store.DecodePage(page, func(l *Line) (bool, error) {
			if l.Booked > at {
				return false, nil
			}
			t, found = l.Totals, true
			return true, nil
		})
		return !found, err
	})
	return t, found, err
}

// ShiftedLines calls fn with those lines of an organization whose effective day is not their booked day, in the order of
// account, effective day and seq. It begins with the first account whose key is ≥ from. The key of an account is made by
// store.AccountKey, and is valid until fn returns.
func (v *View) ShiftedLines(org ledger.ID, from []byte, fn func(account []byte, on ledger.Date, l *Line) (more bool, err error)) error {
	prefix := ShiftedLines.prefix(org)
	more := true
	return v.snap.Ascend(prefix, append(slices.Clone(prefix), from...), func(key, row []byte) (bool, error) {
		account, on, ok := store.ParseShifted(key)
		if !ok {
			return false, damaged("shifted line with key %x", key)
		}
		if bytes.Compare(account, from) < 0 {
			return true, nil // the row's key is above from only because it also contains day and seq
		}
		err := store.DecodePage(row, func(l *Line) (bool, error) {
			var err error
			more, err = fn(account, on, l)
			return more, err
		})
		return more, err
	})
}

// Accounts calls fn with an organization's accounts in the environment env whose path begins with prefix. The accounts are
// ordered by path, currency and network.
func (v *View) Accounts(org ledger.ID, prefix string, env money.Env, fn func(ledger.Account) (more bool, err error)) error {
	return v.AccountsFrom(org, prefix, env, nil, fn)
}

// AccountsFrom is like Accounts. But if after is not nil, it leaves out this account and the accounts before it.
func (v *View) AccountsFrom(org ledger.ID, prefix string, env money.Env, after *ledger.Account, fn func(ledger.Account) (more bool, err error)) error {
	var from []byte
	if after != nil {
		from = store.After(store.KeyPages(nil, org, *after))
	}
	return v.snap.AscendKeys(store.KeyAccounts(nil, org, env, prefix), from, func(key []byte) ([]byte, bool, error) {
		a, ok := store.ParsePageKey(key)
		if !ok {
			return nil, false, damaged("page with key %x", key)
		}
		more, err := fn(a)
		return store.After(store.KeyPages(nil, org, a)), more, err
	})
}

// Lines calls fn with the lines of an account, the newest first. If before is not 0, it leaves out the lines of the event with
// this seq and of later events.
func (v *View) Lines(org ledger.ID, a ledger.Account, before uint64, fn func(Line) (more bool, err error)) error {
	return v.LinesUntil(org, a, maxMicros, before, fn)
}

// LinesUntil is like Lines, but also leaves out lines that were booked later than the instant until.
func (v *View) LinesUntil(org ledger.ID, a ledger.Account, until ledger.Micros, before uint64, fn func(Line) (more bool, err error)) error {
	from := until
	if before != 0 {
		e, _, found, err := v.Event(org, before)
		if err != nil {
			return err
		}
		if found && e.Booked <= from {
			from = e.Booked - 1
		}
	}
	prefix := store.KeyPages(nil, org, a)
	return v.descend(prefix, store.KeyPage(nil, org, a, from), func(page []byte) (bool, error) {
		var lines []Line
		err := store.DecodePage(page, func(l *Line) (bool, error) {
			if l.Booked <= from {
				lines = append(lines, *l)
			}
			return true, nil
		})
		if err != nil {
			return false, err
		}
		for i := len(lines) - 1; i >= 0; i-- {
			if more, err := fn(lines[i]); err != nil || !more {
				return false, err
			}
		}
		return true, nil
	})
}

// Event returns an event and its canonical bytes. If there is no event with this seq, it returns false.
func (v *View) Event(org ledger.ID, seq uint64) (ledger.Event, []byte, bool, error) {
	var e ledger.Event
	var canonicalBytes []byte
	if seq == 0 {
		return e, nil, false, nil
	}
	block, err := v.blockOf(org, seq)
	if err != nil || block.Count == 0 {
		return e, nil, false, err
	}
	err = block.Each(func(n uint64, canonical []byte) (bool, error) {
		if n == seq {
			canonicalBytes = append([]byte(nil), canonical...)
		}
		return n < seq, nil
	})
	if err != nil || canonicalBytes == nil {
		return e, nil, false, err
	}
	e, err = ledger.ParseCanonical(canonicalBytes)
	return e, canonicalBytes, err == nil, err
}

// blockOf returns the block (a stored row of consecutive events) that contains the event with this seq. If there is no such
// event, it returns the last block before this seq, or a block whose Count is zero if there is none. The view keeps the block,
// because callers often read neighbouring events next.
func (v *View) blockOf(org ledger.ID, seq uint64) (store.BlockRow, error) {
	if b := &v.block; v.blockOrg == org && seq >= b.First && seq-b.First < b.Count {
		return *b, nil
	}
	key, row, found, err := v.snap.Last(store.KeyBlocks(nil, org), store.KeyBlock(nil, org, seq))
	if err != nil || !found {
		return store.BlockRow{}, err
	}
	block, err := store.DecodeBlock(key, row)
	if err == nil {
		v.blockOrg, v.block = org, block
	}
	return block, err
}

// Events calls fn with an organization's events, the newest first. If before is not 0, it leaves out the event with this seq
// and later events.
func (v *View) Events(org ledger.ID, before uint64, fn func(ledger.Event) (more bool, err error)) error {
	var from []byte
	if before != 0 {
		// If the caller reads the events in batches, this batch begins in the block in which the previous batch ended.
		if b := v.block; v.blockOrg == org && before > b.First && before-b.First <= b.Count {
			if more, err := eachBefore(org, &b, before, fn); err != nil || !more {
				return err
			}
			before = b.First
		}
		from = store.KeyBlock(nil, org, before-1)
	}
	return v.snap.Descend(store.KeyBlocks(nil, org), from, func(key, row []byte) (bool, error) {
		block, err := store.DecodeBlock(key, row)
		if err != nil {
			return false, err
		}
		more, err := eachBefore(org, &block, before, fn)
		if err == nil && !more {
			v.blockOrg = org
			v.block, err = store.DecodeBlock(key, bytes.Clone(row))
		}
		return more, err
	})
}

// eachBefore calls fn with the events of a block, the newest first. If before is not 0, it leaves out the event with this seq
// and later events. A block may contain many events, so eachBefore parses only the events that it passes to fn.
func eachBefore(org ledger.ID, block *store.BlockRow, before uint64, fn func(ledger.Event) (more bool, err error)) (more bool, err error) {
	var events [][]byte
	err = block.Each(func(seq uint64, canonical []byte) (bool, error) {
		if before != 0 && seq >= before {
			return false, nil
		}
		events = append(events, canonical)
		return true, nil
	})
	if err != nil {
		return false, err
	}
	for i := len(events) - 1; i >= 0; i-- {
		e, err := ledger.ParseCanonical(events[i])
		if err != nil {
			return false, damaged("organization %v: event %d: %v", org, block.First+uint64(i), err)
		}
		if more, err := fn(e); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// EventsAscending calls fn with an organization's events, the oldest first. It begins with the event whose seq is from.
// canonical is valid until fn returns.
func (v *View) EventsAscending(org ledger.ID, from uint64, fn func(e ledger.Event, canonical []byte) (more bool, err error)) error {
	from = max(from, 1)
	start := store.KeyBlock(nil, org, from)
	if key, _, found, err := v.snap.Last(store.KeyBlocks(nil, org), start); err != nil {
		return err
	} else if found {
		start = key
	}
	return v.snap.Ascend(store.KeyBlocks(nil, org), start, func(key, row []byte) (bool, error) {
		block, err := store.DecodeBlock(key, row)
		if err != nil {
			return false, err
		}
		more := true
		err = block.Each(func(seq uint64, canonical []byte) (bool, error) {
			if seq < from {
				return true, nil
			}
			e, err := ledger.ParseCanonical(canonical)
			if err != nil {
				return false, damaged("organization %v: event %d: %v", org, seq, err)
			}
			more, err = fn(e, canonical)
			return more, err
		})
		return more, err
	})
}

// SourceEvents calls fn with the events of one record, the newest first. It finds them quickly, because each event contains the
// seq of the record's previous event.
func (v *View) SourceEvents(org ledger.ID, s ledger.Source, fn func(ledger.Event) (more bool, err error)) error {
	return v.SourceEventsBefore(org, s, 0, fn)
}

// SourceEventsBefore is like SourceEvents. But if before is not 0, it leaves out the event with this seq and later events. If
// that event belongs to the record, the record's later events are not even read.
func (v *View) SourceEventsBefore(org ledger.ID, s ledger.Source, before uint64, fn func(ledger.Event) (more bool, err error)) error {
	r, found, err := v.Record(org, s)
	if err != nil || !found {
		return err
	}
	seq := r.Header.LastSeq
	if before != 0 {
		e, _, found, err := v.Event(org, before)
		if err != nil {
			return err
		}
		if found && e.Source == s {
			seq = e.Previous
		}
	}
	for seq != 0 {
		e, _, found, err := v.Event(org, seq)
		if err != nil {
			return err
		}
		if !found || e.Source != s {
			return damaged("record %v: its event %d is missing", s.ID, seq)
		}
		if before == 0 || seq < before {
			if more, err := fn(e); err != nil || !more {
				return err
			}
		}
		seq = e.Previous
	}
	return nil
}

// SeqAt returns the seq of the last event that was booked at or before the instant, or 0 if there is no such event.
func (v *View) SeqAt(org ledger.ID, at ledger.Micros) (uint64, error) {
	last, _, err := v.Head(org)
	if err != nil {
		return 0, err
	}
	low, high := uint64(0), last // low ≤ the result ≤ high
	for low < high {
		middle := low + (high-low+1)/2
		e, _, found, err := v.Event(org, middle)
		if err != nil {
			return 0, err
		}
		if !found {
			return 0, damaged("organization %v: event %d is missing", org, middle)
		}
		if e.Booked <= at {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low, nil
}

// Head returns the number of an organization's events, and the root hash of their tree.
func (v *View) Head(org ledger.ID) (size uint64, root [32]byte, err error) {
	key, row, found, err := v.snap.Last(store.KeyBlocks(nil, org), store.KeyBlock(nil, org, ^uint64(0)))
	if err != nil {
		return 0, root, err
	}
	if !found {
		return 0, (&tree{}).root(), nil
	}
	block, err := store.DecodeBlock(key, row)
	return block.First + block.Count - 1, block.Root, err
}

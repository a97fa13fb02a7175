package posting

import (
	"fmt"
	"maps"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/period"
	"mizan/posting/store"
)

// DateGuard refuses a command with Invalid and its field's name if the day that the
// field says is in a month that the organization has closed.
type DateGuard struct {
	Org   ledger.ID
	Field string
	On    ledger.Date
}

// Closing closes an organization's month with the Change, one step of which is the new
// record of that month. Afterwards no entry takes effect in it, nor before it: a command
// that says such a day is refused by its DateGuard, and what takes such a day by itself
// takes the first open one.
//
// Seen is the seq of the last event that the record's trial balance was made of. If
// anything behind it took effect in the month, the Change is refused with StaleVersion:
// it is to be made again. It is refused with Conflict if the month is closed, or has
// not ended by the instant at which the closing would be booked.
type Closing struct {
	Org   ledger.ID
	Month period.Month
	Seen  uint64
}

// checkClosing reports a month's record that is not written by its closing, or another
// way round.
func (c *Change) checkClosing() error {
	closes := 0
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Source.Kind != ledger.Period {
			continue
		}
		if c.Outcome || c.Close == nil || s.Org != c.Close.Org || s.Source != c.Close.Month.Source() || s.Expect != 0 {
			return fmt.Errorf("record %v of a month without its closing", s.Source.ID)
		}
		closes++
	}
	if c.Close != nil && closes != 1 {
		return fmt.Errorf("closing of %v with %d records", c.Close.Month, closes)
	}
	return nil
}

// dates is what the orderer knows of the days on which an organization's entries take
// effect.
type dates struct {
	closed period.Month            // the last closed one; 0: none
	past   map[period.Month]uint64 // open month → seq of the last entry that took effect in it and was booked later
	lost   uint64                  // seq of the last event of which past knows nothing

	today  ledger.Date // on which the last entry was booked; 0: none since the start
	last   uint64      // that entry's seq
	turned uint64      // seq of the last entry that was booked on an earlier day
}

// give dates an event's entry: on its booked day where it says none, and never in a
// month that is closed. What is booked is booked after the closing, so that its booked
// day is in no closed month.
func (d *dates) give(e *ledger.Event) {
	entry, booked := e.Entry, e.Booked.Date()
	if entry.Effective == 0 {
		entry.Effective = booked
	}
	if d.closed != 0 {
		entry.Effective = max(entry.Effective, d.closed.Last()+1)
	}
	if booked != d.today {
		d.today, d.turned = booked, d.last
	}
	d.last = e.Seq
	if entry.Effective >= booked {
		return
	}
	if m := period.Of(entry.Effective); m < period.Of(booked) {
		if d.past == nil {
			d.past = make(map[period.Month]uint64)
		}
		d.past[m] = e.Seq
	}
}

// changed tells whether an event after the seq may have taken effect in the month or
// before it. It may have for being booked by then: a group that was begun before
// midnight becomes durable after it.
func (d *dates) changed(seq uint64, in period.Month) bool {
	if d.lost > seq || d.turned > seq || d.today <= in.Last() && d.last > seq {
		return true
	}
	for m, last := range d.past {
		if last > seq && m <= in {
			return true
		}
	}
	return false
}

// close notes that a month is closed. Nothing takes effect in it any more.
func (d *dates) close(m period.Month) {
	d.closed = m
	maps.DeleteFunc(d.past, func(of period.Month, _ uint64) bool { return of <= m })
}

// checkClosed tells what speaks against closing a month.
func (w *writer) checkClosed(c *Closing) *ledger.Refusal {
	const op = "posting.Close"
	if c == nil {
		return nil
	}
	b := w.known(c.Org)
	switch {
	case c.Month <= b.dates.closed:
		return ledger.Refuse(op, ledger.Conflict, "%v is closed already", c.Month)
	case max(b.time+1, w.now) < c.Month.End():
		return ledger.Refuse(op, ledger.Conflict, "%v has not ended", c.Month)
	case b.dates.changed(c.Seen, c.Month):
		return ledger.Refuse(op, ledger.StaleVersion, "something was dated into %v meanwhile", c.Month)
	}
	return nil
}

// checkDates refuses the first field that says a day in a closed month, or in one that is
// being closed.
func (w *writer) checkDates(guards []DateGuard) *ledger.Refusal {
	for i := range guards {
		g := &guards[i]
		if fenced := w.journal.fences.of(g.Org); fenced != 0 && g.On <= fenced.Last() {
			return ledger.Refuse("posting.Submit", ledger.Unavailable, "%v is being closed, and %s is in it or before: ask again", fenced, g.Field)
		}
		if closed := w.known(g.Org).dates.closed; closed != 0 && g.On <= closed.Last() {
			return ledger.RefuseField("posting.Submit", g.Field, "is in a month that is closed: the first open day is %v", closed.Last()+1)
		}
	}
	return nil
}

// lastClosed finds the last month that an organization has closed; 0: none.
func lastClosed(snap *store.Snapshot, org ledger.ID) (period.Month, error) {
	var last period.Month
	err := snap.Descend(store.KeyRecords(nil, org, ledger.Period), nil, func(key, _ []byte) (bool, error) {
		_, source, ok := store.ParseRecordKey(key)
		if ok {
			last, ok = period.FromID(source.ID)
		}
		if !ok {
			return false, damaged("organization %v: a closed month with key %x", org, key)
		}
		return false, nil
	})
	return last, err
}

// Closed is the last month that an organization has closed; 0: none.
func (v *View) Closed(org ledger.ID) (period.Month, error) { return lastClosed(v.snap, org) }

// Period is a month that an organization has closed; nil: it has not.
func (v *View) Period(org ledger.ID, m period.Month) (*period.Record, error) {
	stored, found, err := v.Record(org, m.Source())
	if err != nil || !found {
		return nil, err
	}
	return readPeriod(m.ID(), &stored)
}

func readPeriod(id ledger.ID, stored *Record) (*period.Record, error) {
	r, err := period.ReadRecord(id, stored.Payload)
	if err != nil {
		return nil, damaged("record %v: %v", id, err)
	}
	r.At, r.Seq = stored.Stamp.Started, stored.Stamp.LastSeq
	return r, nil
}

// Periods calls fn with the months that an organization has closed, the last one first,
// beginning before a month (0: with the last).
func (v *View) Periods(org ledger.ID, before period.Month, fn func(*period.Record) (more bool, err error)) error {
	last, err := v.Closed(org)
	if err != nil {
		return err
	}
	if before != 0 {
		last = min(last, before-1)
	}
	// Months are closed without a gap, so that each is the one before the other's.
	for ; last > 0; last-- {
		r, err := v.Period(org, last)
		if err != nil || r == nil {
			return err
		}
		if more, err := fn(r); err != nil || !more {
			return err
		}
	}
	return nil
}

// PeriodBalance is the hash of an organization's trial balance by effective date at a
// month's end, and the number of its rows, as period.Balance says.
func (v *View) PeriodBalance(org ledger.ID, m period.Month) (sum [32]byte, rows uint64, err error) {
	b := period.NewBalance(org, m)
	for _, env := range [...]money.Env{money.Prod, money.Test} {
		err := v.TrialBalance(org, AsOf{Env: env, On: m.Last()}, func(a ledger.Account, t *ledger.Totals) (bool, error) {
			b.Add(a, t)
			return true, nil
		})
		if err != nil {
			return sum, 0, err
		}
	}
	sum, rows = b.Sum()
	return sum, rows, nil
}

// Overdue counts the records of an organization that still wait for an instant before
// the given one, and the contracts that wait for one up to now: what time does to a
// contract takes effect on its own day, which may be long ago.
func (d *Due) Overdue(org ledger.ID, before, now ledger.Micros) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k, w := range d.live {
		if k.org == org && (w.at < before || w.at <= now && k.source.Kind == ledger.Contract) {
			n++
		}
	}
	return n
}

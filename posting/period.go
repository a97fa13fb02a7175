package posting

import (
	"fmt"
	"maps"
	"sync"

	"mizan/ledger"
	"mizan/ledger/period"
	"mizan/posting/store"
)

// DateGuard says that the user has chosen the day On, in the field named Field. If the organization has closed the month of
// this day or a later month, the command is refused with the code Invalid and the name of the field.
type DateGuard struct {
	Org   ledger.ID
	Field string
	On    ledger.Date
}

// Closing makes a Change close a month of an organization. One step of the Change must create the month's record. After the
// closing, no entry takes effect in this month or earlier: a command with a DateGuard for such a day is refused, and an entry
// whose day nobody has chosen takes effect on the first open day or later.
//
// SeenSeq is the seq of the last event that the trial balance in the month's record includes. If an event after SeenSeq may
// have taken effect in this month or earlier, the Change is refused with StaleVersion, and the caller must compute the trial
// balance again. If the month is closed already, or has not ended yet, the Change is refused with Conflict.
type Closing struct {
	Org     ledger.ID
	Month   period.Month
	SeenSeq uint64
}

// checkClosing returns an error if a Change closes a month without creating the month's record, or creates such a record
// without closing the month.
func (c *Change) checkClosing() error {
	closes := 0
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Source.Kind != ledger.Period {
			continue
		}
		if c.MustRecord || c.Close == nil || s.Org != c.Close.Org || s.Source != c.Close.Month.Source() || s.Expect != 0 {
			return fmt.Errorf("record %v of a month without its closing", s.Source.ID)
		}
		closes++
	}
	if c.Close != nil && closes != 1 {
		return fmt.Errorf("closing of %v with %d records", c.Close.Month, closes)
	}
	return nil
}

// dates is what the orderer (the goroutine that prepares groups of changes) knows about the days on which an organization's
// entries take effect.
type dates struct {
	lastClosedMonth period.Month            // the last closed month; 0 if no month is closed
	lastBackdated   map[period.Month]uint64 // by open month: seq of its last entry that was booked in a later month
	uncoveredUntil  uint64                  // lastBackdated includes only events after this seq

	today           ledger.Date // the day on which the last entry was booked; 0 if none was booked since the start
	lastSeq         uint64      // seq of the last entry
	lastBeforeToday uint64      // seq of the last entry booked on an earlier day
}

// setEffective sets the effective day of an event's entry. An entry without an effective day takes effect on the day on which
// it is booked. An entry that would take effect in a closed month takes effect on the first open day. The booked day itself is
// never in a closed month, because a month is closed only after its end.
func (d *dates) setEffective(e *ledger.Event) {
	entry, booked := e.Entry, e.Booked.Date()
	if entry.Effective == 0 {
		entry.Effective = booked
	}
	if d.lastClosedMonth != 0 {
		entry.Effective = max(entry.Effective, d.lastClosedMonth.LastDay()+1)
	}
	if booked != d.today {
		d.today, d.lastBeforeToday = booked, d.lastSeq
	}
	d.lastSeq = e.Seq
	if entry.Effective >= booked {
		return
	}
	if m := period.MonthOf(entry.Effective); m < period.MonthOf(booked) {
		if d.lastBackdated == nil {
			d.lastBackdated = make(map[period.Month]uint64)
		}
		d.lastBackdated[m] = e.Seq
	}
}

// mayHaveChanged tells whether an event with a greater seq may have taken effect in this month or earlier. Such an event may
// even be booked in this month: a group (changes that become durable together) that begins before midnight may become durable
// after midnight.
func (d *dates) mayHaveChanged(seq uint64, month period.Month) bool {
	if d.uncoveredUntil > seq || d.lastBeforeToday > seq || d.today <= month.LastDay() && d.lastSeq > seq {
		return true
	}
	for m, last := range d.lastBackdated {
		if last > seq && m <= month {
			return true
		}
	}
	return false
}

// close records that a month is closed. From then on setEffective lets no entry take effect in the month.
func (d *dates) close(m period.Month) {
	d.lastClosedMonth = m
	maps.DeleteFunc(d.lastBackdated, func(month period.Month, _ uint64) bool { return month <= m })
}

// checkClosed returns nil if the month can be closed, and otherwise the reason why not.
func (w *writer) checkClosed(c *Closing) *ledger.Refusal {
	const op = "posting.Close"
	if c == nil {
		return nil
	}
	b := w.loadOrg(c.Org)
	switch {
	case c.Month <= b.dates.lastClosedMonth:
		return ledger.Refuse(op, ledger.Conflict, "%v is closed already", c.Month)
	case max(b.time+1, w.now) < c.Month.End():
		return ledger.Refuse(op, ledger.Conflict, "%v has not ended", c.Month)
	case b.dates.mayHaveChanged(c.SeenSeq, c.Month):
		return ledger.Refuse(op, ledger.StaleVersion, "something was dated into %v meanwhile", c.Month)
	}
	return nil
}

// checkDates returns a refusal if a guard's day is in a month that is closed or being closed, or earlier than such a month. The
// refusal is for the first such guard.
func (w *writer) checkDates(guards []DateGuard) *ledger.Refusal {
	for i := range guards {
		g := &guards[i]
		if fencedMonth := w.journal.fences.monthOf(g.Org); fencedMonth != 0 && g.On <= fencedMonth.LastDay() {
			return ledger.Refuse("posting.Submit", ledger.Unavailable, "%v is being closed, and %s is in it or before: ask again", fencedMonth, g.Field)
		}
		if closedMonth := w.loadOrg(g.Org).dates.lastClosedMonth; closedMonth != 0 && g.On <= closedMonth.LastDay() {
			return ledger.RefuseField("posting.Submit", g.Field, "is in a month that is closed: the first open day is %v", closedMonth.LastDay()+1)
		}
	}
	return nil
}

// lastClosed returns the last month that an organization has closed, or 0 if it has closed none.
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

// LastClosedMonth returns the last month that an organization has closed, or 0 if it has closed none.
func (v *View) LastClosedMonth(org ledger.ID) (period.Month, error) { return lastClosed(v.snap, org) }

// Period returns the record of a closed month, or nil if the month is not closed.
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
	r.At, r.Seq = stored.Header.StartedAt, stored.Header.LastSeq
	return r, nil
}

// Periods calls fn with the records of closed months of an organization, the latest month first. If before is not 0, it leaves
// out this month and later ones.
func (v *View) Periods(org ledger.ID, before period.Month, fn func(*period.Record) (more bool, err error)) error {
	last, err := v.LastClosedMonth(org)
	if err != nil {
		return err
	}
	if before != 0 {
		last = min(last, before-1)
	}
	// Months are closed in order and without gaps, so every month from the first closed one to the last has a record.
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

// Overdue returns the number of an organization's records that are due before the given instant. It also counts contracts that
// are due later, up to now, because the entry that a contract's timer books takes effect on the day on which the timer was due.
func (q *DueQueue) Overdue(org ledger.ID, before, now ledger.Micros) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for k, w := range q.current {
		if k.org == org && (w.at < before || w.at <= now && k.source.Kind == ledger.Contract) {
			n++
		}
	}
	return n
}

// fences contains the month that each organization is closing at present. Commands with a day in this month or earlier are
// refused. Fences are kept only in memory, so a crash removes them.
type fences struct {
	mu     sync.Mutex
	months map[ledger.ID]period.Month // guarded by mu
}

func (f *fences) monthOf(org ledger.ID) period.Month {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.months[org]
}

// Fence makes the writer refuse an organization's commands with a day in the month or earlier. They are refused with
// Unavailable, until the caller calls remove. Without a fence, each command that books an entry for a day in the month during
// the closing would force the caller to compute the trial balance again. Commands that were checked before the call of Fence
// may still become durable with the next few groups. An organization has at most one fence at a time.
func (j *Journal) Fence(org ledger.ID, m period.Month) (remove func()) {
	j.fences.mu.Lock()
	defer j.fences.mu.Unlock()
	if j.fences.months == nil {
		j.fences.months = make(map[ledger.ID]period.Month)
	}
	j.fences.months[org] = m
	return func() {
		j.fences.mu.Lock()
		defer j.fences.mu.Unlock()
		delete(j.fences.months, org)
	}
}

package books

import (
	"cmp"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	calendar "mizan/ledger/period"
	"mizan/posting"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rules 2 and 3, closed months. Months are closed once they have ended, once each, and
// without a gap from the journal's first one on. The hash of a closed month is that of the
// entries before its closing that take effect by its end, and no later entry takes effect
// by then.

// Months recomputes what an organization's closed months say: the hash of each is that
// of the entries before its closing that take effect by its end, and none after it takes
// effect in it.
type Months struct {
	*Check
	closed  []calendar.Month // as their records say, in order
	next    int              // of these, the first whose closing was not met yet
	last    calendar.Month   // whose closing was met; 0: none
	began   calendar.Month   // of the first event
	effects map[ledger.Account]*effects
}

// effects are what the entries so far make of an account: by the end of the last month
// whose closing was met, and by each closed month to come what is added in it.
type effects struct {
	settled effect
	to      []effectIn
}

type effectIn struct {
	month int // its place in months.closed
	effect
}

// effect is what entries have added to an account's totals and taken off.
type effect struct{ plus, minus ledger.Totals }

// MonthsOf finds the months that an organization has closed.
func (j *Check) MonthsOf() *Months {
	m := &Months{Check: j, effects: make(map[ledger.Account]*effects)}
	err := j.View.Records(j.organization.ID, ledger.Period, func(id ledger.ID, _ posting.Record) (bool, error) {
		if of, ok := calendar.FromID(id); ok { // another one's payload is found to be wrong
			m.closed = append(m.closed, of)
		}
		return true, nil
	})
	if err != nil {
		j.Report.Breach(findings.RuleStates, "organization %v: its closed months can't be read: %v", j.organization.ID, err)
	}
	return m
}

// Follow takes an event in; closed is the hold that its entry closes.
func (m *Months) Follow(e *ledger.Event, closed scan.Hold) {
	if len(m.closed) == 0 {
		return
	}
	if m.began == 0 {
		m.began = calendar.Of(e.Booked.Date())
	}
	if e.Source.Kind == ledger.Period {
		m.close(e)
	}
	if e.Entry != nil {
		m.book(e.Entry, closed, e)
	}
}

// book adds an entry to the month in which it takes effect, if that is ever closed.
func (m *Months) book(entry *ledger.Entry, closed scan.Hold, e *ledger.Event) {
	if m.last != 0 && entry.Effective <= m.last.Last() {
		m.Report.Breach(findings.RuleTotals, "organization %v: event %d takes effect on %v, and %v was closed before",
			m.organization.ID, e.Seq, entry.Effective, m.last)
	}
	in, _ := slices.BinarySearchFunc(m.closed, entry.Effective, func(c calendar.Month, on ledger.Date) int { return cmp.Compare(c.Last(), on) })
	if in = max(in, m.next); in >= len(m.closed) {
		return
	}
	if entry.Phase == ledger.Capture {
		for i := range closed.Postings {
			p := &closed.Postings[i]
			m.ranged(e, m.of(p, in).minus.Hold(p.Side, p.Amount))
		}
	}
	for i := range entry.Postings {
		p := &entry.Postings[i]
		to := m.of(p, in)
		switch entry.Phase {
		case ledger.Pending:
			m.ranged(e, to.plus.Hold(p.Side, p.Amount))
		case ledger.Void:
			m.ranged(e, to.minus.Hold(p.Side, p.Amount))
		default:
			m.ranged(e, to.plus.Post(p.Side, p.Amount))
		}
	}
}

// of is what is added to a posting's account in a month.
func (m *Months) of(p *ledger.Posting, in int) *effect {
	at := ledger.Account{Path: p.Account, Asset: p.Asset}
	a := m.effects[at]
	if a == nil {
		a = new(effects)
		m.effects[at] = a
	}
	for i := range a.to {
		if a.to[i].month == in {
			return &a.to[i].effect
		}
	}
	a.to = append(a.to, effectIn{month: in})
	return &a.to[len(a.to)-1].effect
}

func (m *Months) ranged(e *ledger.Event, err error) {
	if err != nil {
		m.Report.Breach(findings.RuleTotals, "organization %v: event %d takes a month's total out of its range", m.organization.ID, e.Seq)
	}
}

// close compares a closing with the months before it and with the entries.
func (m *Months) close(e *ledger.Event) {
	of, sum, ok := calendar.ReadEvent(e)
	if !ok {
		return // no machine has the step, which is reported
	}
	follows := m.began
	if m.last != 0 {
		follows = m.last + 1
	}
	if of != follows {
		m.EventFault(m.organization.ID, e, "it closes "+of.String()+" where "+follows.String()+" is to be closed")
	}
	if e.Booked < of.End() {
		m.EventFault(m.organization.ID, e, "it closes a month that has not ended")
	}
	m.last = max(m.last, of)
	for m.next < len(m.closed) && m.closed[m.next] <= of {
		m.settle(m.next)
		m.next++
	}
	b := calendar.NewBalance(m.organization.ID, of)
	for _, at := range slices.SortedFunc(maps.Keys(m.effects), calendar.Compare) {
		totals := m.effects[at].settled.totals()
		b.Add(at, &totals)
	}
	if own, _ := b.Sum(); own != sum {
		m.Report.Breach(findings.RuleTotals, "organization %v: event %d closes %v with another hash than that of its trial balance", m.organization.ID, e.Seq, of)
	}
}

// settle adds a month to what is settled.
func (m *Months) settle(month int) {
	for _, a := range m.effects {
		for i := range a.to {
			if a.to[i].month == month {
				a.settled.add(&a.to[i].effect)
				a.to = slices.Delete(a.to, i, i+1)
				break
			}
		}
	}
}

// add adds what happened in a month. Out of range it stays as it is: that was reported,
// and the hash will differ.
func (f *effect) add(more *effect) {
	for _, side := range [...]ledger.Side{ledger.Debit, ledger.Credit} {
		for _, s := range [...]struct{ to, of *ledger.Totals }{{&f.plus, &more.plus}, {&f.minus, &more.minus}} {
			posted, pending := s.of.DebitsPosted, s.of.DebitsPending
			if side == ledger.Credit {
				posted, pending = s.of.CreditsPosted, s.of.CreditsPending
			}
			_, _ = s.to.Post(side, posted), s.to.Hold(side, pending)
		}
	}
}

// totals are an account's. A hold that takes effect later than what closes it holds
// nothing before.
func (f *effect) totals() ledger.Totals {
	t := f.plus
	if t.Release(ledger.Debit, f.minus.DebitsPending) != nil {
		t.DebitsPending = money.Amount{}
	}
	if t.Release(ledger.Credit, f.minus.CreditsPending) != nil {
		t.CreditsPending = money.Amount{}
	}
	return t
}

// CheckPeriod compares a closed month's record with its event.
func (c *Check) CheckPeriod(r *scan.Record) {
	said, err := calendar.ReadRecord(r.Source.ID, r.Payload)
	if err != nil {
		c.Fault(r, "can't be read: %v", err)
		return
	}
	if e := said.Event(); r.History.EntryHash != r.Organization.Histories.ValueHash(e.To) {
		c.Fault(r, "says another hash than its event")
	}
	if r.Stamp.Due != 0 || r.History.Version != 1 {
		c.Fault(r, "is not closed once and for ever")
	}
}

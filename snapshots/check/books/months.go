package books

import (
	"cmp"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/period"
	"mizan/posting"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rules 2 and 3, closed months. Only a month that has ended is closed, once, and months are
// closed without a gap from the journal's first month on. The hash of a closed month covers the
// entries that were booked before its closing and take effect by its end. No later entry takes
// effect by then.

// Months recomputes the hashes of an organization's closed months from its entries.
type Months struct {
	*Check
	closed  []period.Month // according to their records, in order
	next    int            // index in closed of the first month whose closing event was not read yet
	last    period.Month   // the last month whose closing event was read; 0: none
	began   period.Month   // month of the first event
	effects map[ledger.Account]*effects
}

// effects is what the entries so far have added to an account: by the end of the last closed
// month, and in each later month that will be closed.
type effects struct {
	settled effect
	to      []effectIn
}

// effectIn is what entries have added in one month.
type effectIn struct {
	month int // index in Months.closed
	effect
}

// effect is what entries have added to an account's totals and removed from them.
type effect struct{ plus, minus ledger.Totals }

// MonthsOf finds the months that the organization has closed.
func (c *Check) MonthsOf() *Months {
	m := &Months{Check: c, effects: make(map[ledger.Account]*effects)}
	err := c.View.Records(c.organization.ID, ledger.Period, func(id ledger.ID, _ posting.Record) (bool, error) {
		if of, ok := period.FromID(id); ok { // a row with another id is reported by the check of records
			m.closed = append(m.closed, of)
		}
		return true, nil
	})
	if err != nil {
		c.Report.Breach(findings.RuleStates, "organization %v: its closed months can't be read: %v", c.organization.ID, err)
	}
	return m
}

// Follow applies an event; closed is the hold that the event's entry closes.
func (m *Months) Follow(e *ledger.Event, closed scan.Hold) {
	if len(m.closed) == 0 {
		return
	}
	if m.began == 0 {
		m.began = period.MonthOf(e.Booked.Date())
	}
	if e.Source.Kind == ledger.Period {
		m.close(e)
	}
	if e.Entry != nil {
		m.book(e.Entry, closed, e)
	}
}

// book adds an entry to the month in which it takes effect, if that month is closed later.
func (m *Months) book(entry *ledger.Entry, closed scan.Hold, e *ledger.Event) {
	if m.last != 0 && entry.Effective <= m.last.Last() {
		m.Report.Breach(findings.RuleTotals, "organization %v: event %d takes effect on %v, and %v was closed before",
			m.organization.ID, e.Seq, entry.Effective, m.last)
	}
	in, _ := slices.BinarySearchFunc(m.closed, entry.Effective, func(c period.Month, on ledger.Date) int { return cmp.Compare(c.Last(), on) })
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

// of returns what entries have added to a posting's account in a month.
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

// close compares the closing of a month with the months before it and with the entries.
func (m *Months) close(e *ledger.Event) {
	of, sum, ok := period.ReadEvent(e)
	if !ok {
		return // the check of transitions reports it as a step that no machine has
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
		m.closeMonth(m.next)
		m.next++
	}
	b := period.NewBalance(m.organization.ID, of)
	for _, at := range slices.SortedFunc(maps.Keys(m.effects), period.Compare) {
		totals := m.effects[at].settled.totals()
		b.Add(at, &totals)
	}
	if own, _ := b.Sum(); own != sum {
		m.Report.Breach(findings.RuleTotals, "organization %v: event %d closes %v with another hash than that of its trial balance", m.organization.ID, e.Seq, of)
	}
}

// closeMonth adds a month's effects to the closed totals.
func (m *Months) closeMonth(month int) {
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

// add adds the effect of a month. A total that would leave its range stays unchanged: the
// overflow was reported already, and the hash will differ.
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

// totals returns an account's totals. A hold that takes effect later than the entry that closes
// it reserves nothing.
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
	record, err := period.ReadRecord(r.Source.ID, r.Payload)
	if err != nil {
		c.Fault(r, "can't be read: %v", err)
		return
	}
	if e := record.Event(); r.History.EntryHash != r.Organization.Histories.ValueHash(e.To) {
		c.Fault(r, "says another hash than its event")
	}
	if r.Stamp.Due != 0 || r.History.Version != 1 {
		c.Fault(r, "is not closed once and for ever")
	}
}

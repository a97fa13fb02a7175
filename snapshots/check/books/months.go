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

// For rules 2 and 3 of the checker (totals, states of records), this file checks closed months. A month may be closed
// only after its end and only once. Months must be closed without a gap from the journal's first month on. The hash
// of a closed month must cover the entries that were booked before the closing and take effect by the month's end. An
// entry that is booked after the closing must take effect after the month.

// Months recomputes the hashes of an organization's closed months from its entries.
type Months struct {
	*Check
	closedMonths []period.Month // the closed months in order, according to the stored records
	nextIndex    int            // index in closedMonths of the first month whose closing event was not read yet
	lastClosed   period.Month   // the last month whose closing event was read; 0: none
	firstMonth   period.Month   // month of the first event
	effects      map[ledger.Account]*accountEffects
}

// accountEffects are the changes to one account by the entries read so far.
type accountEffects struct {
	untilLastClosed effect        // changes up to the end of the last month whose closing event was read
	byMonth         []monthEffect // changes in each later closed month
}

// monthEffect is the change to one account by the entries that take effect in one month.
type monthEffect struct {
	monthIndex int // index in Months.closedMonths
	effect
}

// effect has the sums that entries have added to an account's totals and removed from them.
type effect struct{ added, removed ledger.Totals }

// ReadMonths reads the months that the organization has closed.
func (c *Check) ReadMonths() *Months {
	m := &Months{Check: c, effects: make(map[ledger.Account]*accountEffects)}
	err := c.View.Records(c.organization.ID, ledger.Period, func(id ledger.ID, _ posting.Record) (bool, error) {
		if month, ok := period.FromID(id); ok { // if the id names no month, the check of records reports the row
			m.closedMonths = append(m.closedMonths, month)
		}
		return true, nil
	})
	if err != nil {
		c.Report.Breach(findings.RuleStates, "organization %v: its closed months can't be read: %v", c.organization.ID, err)
	}
	return m
}

// Follow applies an event; closedHold is the hold that the event's entry closes.
func (m *Months) Follow(e *ledger.Event, closedHold scan.Hold) {
	if len(m.closedMonths) == 0 {
		return
	}
	if m.firstMonth == 0 {
		m.firstMonth = period.MonthOf(e.Booked.Date())
	}
	if e.Source.Kind == ledger.Period {
		m.checkClosing(e)
	}
	if e.Entry != nil {
		m.book(e.Entry, closedHold, e)
	}
}

// book adds an entry to the effects of the month in which it takes effect, if a later event closes that
// month.
func (m *Months) book(entry *ledger.Entry, closedHold scan.Hold, e *ledger.Event) {
	if m.lastClosed != 0 && entry.Effective <= m.lastClosed.LastDay() {
		m.Report.Breach(findings.RuleTotals, "organization %v: event %d takes effect on %v, and %v was closed before",
			m.organization.ID, e.Seq, entry.Effective, m.lastClosed)
	}
	monthIndex, _ := slices.BinarySearchFunc(m.closedMonths, entry.Effective, func(c period.Month, day ledger.Date) int { return cmp.Compare(c.LastDay(), day) })
	if monthIndex = max(monthIndex, m.nextIndex); monthIndex >= len(m.closedMonths) {
		return
	}
	if entry.Phase == ledger.Capture {
		for i := range closedHold.Postings {
			p := &closedHold.Postings[i]
			m.reportOutOfRange(e, m.effectOn(p, monthIndex).removed.Hold(p.Side, p.Amount))
		}
	}
	for i := range entry.Postings {
		p := &entry.Postings[i]
		target := m.effectOn(p, monthIndex)
		switch entry.Phase {
		case ledger.Pending:
			m.reportOutOfRange(e, target.added.Hold(p.Side, p.Amount))
		case ledger.Void:
			m.reportOutOfRange(e, target.removed.Hold(p.Side, p.Amount))
		default:
			m.reportOutOfRange(e, target.added.Post(p.Side, p.Amount))
		}
	}
}

// effectOn returns the effect on a posting's account in a closed month.
func (m *Months) effectOn(p *ledger.Posting, monthIndex int) *effect {
	accountID := ledger.Account{Path: p.Account, Asset: p.Asset}
	a := m.effects[accountID]
	if a == nil {
		a = new(accountEffects)
		m.effects[accountID] = a
	}
	for i := range a.byMonth {
		if a.byMonth[i].monthIndex == monthIndex {
			return &a.byMonth[i].effect
		}
	}
	a.byMonth = append(a.byMonth, monthEffect{monthIndex: monthIndex})
	return &a.byMonth[len(a.byMonth)-1].effect
}

func (m *Months) reportOutOfRange(e *ledger.Event, err error) {
	if err != nil {
		m.Report.Breach(findings.RuleTotals, "organization %v: event %d takes a month's total out of its range", m.organization.ID, e.Seq)
	}
}

// checkClosing checks an event that closes a month: the month must follow the last closed one, and the hash must
// follow from the entries.
func (m *Months) checkClosing(e *ledger.Event) {
	month, storedHash, ok := period.ReadEvent(e)
	if !ok {
		return // the check of transitions reports the event
	}
	expected := m.firstMonth
	if m.lastClosed != 0 {
		expected = m.lastClosed + 1
	}
	if month != expected {
		m.EventFault(m.organization.ID, e, "it closes "+month.String()+" where "+expected.String()+" is to be closed")
	}
	if e.Booked < month.End() {
		m.EventFault(m.organization.ID, e, "it closes a month that has not ended")
	}
	m.lastClosed = max(m.lastClosed, month)
	for m.nextIndex < len(m.closedMonths) && m.closedMonths[m.nextIndex] <= month {
		m.addClosedMonth(m.nextIndex)
		m.nextIndex++
	}
	b := period.NewBalanceHasher(m.organization.ID, month)
	for _, accountID := range slices.SortedFunc(maps.Keys(m.effects), period.Compare) {
		totals := m.effects[accountID].untilLastClosed.totals()
		b.Add(accountID, &totals)
	}
	if computedHash, _ := b.Sum(); computedHash != storedHash {
		m.Report.Breach(findings.RuleTotals, "organization %v: event %d closes %v with another hash than that of its trial balance", m.organization.ID, e.Seq, month)
	}
}

// addClosedMonth moves each account's effect in the month from byMonth to untilLastClosed.
func (m *Months) addClosedMonth(monthIndex int) {
	for _, a := range m.effects {
		for i := range a.byMonth {
			if a.byMonth[i].monthIndex == monthIndex {
				a.untilLastClosed.add(&a.byMonth[i].effect)
				a.byMonth = slices.Delete(a.byMonth, i, i+1)
				break
			}
		}
	}
}

// add adds the effect of a month. A total that would leave its range stays unchanged. The check still finds this fault, because
// the hash of the month is then different.
func (e *effect) add(month *effect) {
	for _, side := range [...]ledger.Side{ledger.Debit, ledger.Credit} {
		for _, s := range [...]struct{ sum, addend *ledger.Totals }{{&e.added, &month.added}, {&e.removed, &month.removed}} {
			posted, pending := s.addend.DebitsPosted, s.addend.DebitsPending
			if side == ledger.Credit {
				posted, pending = s.addend.CreditsPosted, s.addend.CreditsPending
			}
			_, _ = s.sum.Post(side, posted), s.sum.Hold(side, pending)
		}
	}
}

// totals returns an account's totals. If a hold takes effect later than the entry that closes it, more may have been
// released than reserved. In this case nothing is pending.
func (e *effect) totals() ledger.Totals {
	t := e.added
	if t.Release(ledger.Debit, e.removed.DebitsPending) != nil {
		t.DebitsPending = money.Amount{}
	}
	if t.Release(ledger.Credit, e.removed.CreditsPending) != nil {
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
		c.Fault(r, "has another hash than its event")
	}
	if r.Header.Due != 0 || r.History.Version != 1 {
		c.Fault(r, "has more than one event, or a timer")
	}
}

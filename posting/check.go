package posting

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
)

// check returns a receipt with an error if a change must be refused. It checks claims, the closing of a month, versions, dates,
// counters, funds and the range of totals, in this order. It changes nothing.
func (w *writer) check(c *Change) Receipt {
	if c.Move != nil {
		return Receipt{Err: w.checkMove(c.Move)}
	}
	if len(w.placements) > 0 && w.isElsewhere(c) {
		return Receipt{Err: ErrElsewhere}
	}
	for i := range c.Claims {
		if owner, claimed := w.owner(c.Claims[:i], &c.Claims[i]); claimed {
			return Receipt{Err: ledger.Refuse("posting.Submit", ledger.ClaimTaken, "the key is taken"), Claim: i, Owner: owner}
		}
	}
	if refusal := w.checkClosed(c.Close); refusal != nil {
		return Receipt{Err: refusal}
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if header := w.recordHeader(s); header.Version != s.Expect {
			return Receipt{Err: ledger.Refuse("posting.Submit", ledger.StaleVersion, "version %d is stored, %d was expected", header.Version, s.Expect)}
		}
	}
	if c.MustRecord {
		return Receipt{}
	}
	if refusal := w.checkDates(c.Dates); refusal != nil {
		return Receipt{Err: refusal}
	}
	if i, refusal := w.checkCounters(c); refusal != nil {
		return Receipt{Err: refusal, Counter: i}
	}
	if refusal := w.checkFunds(c); refusal != nil {
		return Receipt{Err: refusal}
	}
	if refusal := w.checkRange(c); refusal != nil {
		return Receipt{Err: refusal}
	}
	return Receipt{}
}

// owner tells whether the key of a claim is taken, and returns the key's owner. It searches the earlier claims of the same
// change, the claims of the current group (changes that become durable together) and of the previous group, and the store.
func (w *writer) owner(earlier []ledger.Claim, claim *ledger.Claim) (owner []byte, claimed bool) {
	for i := range earlier {
		if e := &earlier[i]; e.Key == claim.Key && e.Kind == claim.Kind && e.Org == claim.Org {
			return e.Owner, true
		}
	}
	w.key = store.KeyClaim(w.key[:0], claim.Org, claim.Kind, claim.Key)
	for _, claims := range w.claims {
		if owner, claimed = claims[string(w.key)]; claimed {
			return owner, true
		}
	}
	owner, claimed, err := w.snapshot().Get(w.key, nil)
	w.must(err)
	return owner, claimed
}

// recordHeader returns the header of the step's record, that is, its version and the other fields that the writer stores beside
// the payload. The header includes changes that are in a group but not durable yet.
func (w *writer) recordHeader(s *Step) RecordHeader {
	if s.Record == nil {
		return RecordHeader{} // a record that consists only of its event has no stored header
	}
	k := dueKey{s.Org, s.Source}
	if header, ok := w.headers.get(k); ok || s.isCertainlyNew() {
		return header
	}
	w.key = store.KeyRecord(w.key[:0], s.Org, s.Source)
	row, found, err := w.snapshot().Get(w.key, w.value[:0])
	w.must(err)
	if !found {
		return RecordHeader{}
	}
	stored, _, ok := store.DecodeRecord(row)
	if !ok {
		w.must(damaged("record %v: unknown form", s.Source.ID))
	}
	w.value = row[:0]
	header := RecordHeader(stored)
	w.headers.set(k, header)
	return header
}

// isCertainlyNew tells whether the store need not be searched for the record, because the record is new and its random id was
// generated for this change. If an earlier change of the record is not durable yet, the record's header is in the cache.
func (s *Step) isCertainlyNew() bool {
	return s.Expect == 0 && (s.Source.Kind == ledger.Transaction || s.Source.Kind == ledger.Transfer) && s.Source.ID.Version() == 4
}

// checkCounters checks the counter guards of a change. Each guard is compared with the counter's amount after the earlier
// guards of the change. If a guard refuses the change, checkCounters returns the guard's index.
func (w *writer) checkCounters(c *Change) (int, *ledger.Refusal) {
	for i := range c.Counters {
		g := &c.Counters[i]
		if g.IsRelease {
			continue
		}
		sum, err := w.projectedAmount(c.Counters[:i], g)
		if err == nil {
			sum, err = amountAfter(sum, g)
		}
		if err != nil || g.Max.Less(sum) {
			return i, ledger.Refuse("posting.Submit", g.RefusalCode, "%s", g.Key)
		}
	}
	return 0, nil
}

// projectedAmount returns the amount that the counter of g will have after the guards in earlier. These are the guards before g
// in the change.
func (w *writer) projectedAmount(earlier []ledger.CounterGuard, g *ledger.CounterGuard) (money.Amount, error) {
	amount := w.counter(counterKey{g.Org, g.Key, g.Window}).amount
	var err error
	for i := range earlier {
		e := &earlier[i]
		if e.Key != g.Key || e.Window != g.Window || e.Org != g.Org {
			continue
		}
		if amount, err = amountAfter(amount, e); err != nil {
			return amount, err
		}
	}
	return amount, nil
}

// amountAfter returns a counter's amount after a guard has added to it or subtracted from it. If the amount is money.Max, a
// release does not change it: a change marked MustRecord has exceeded the counter's range, so the true amount is unknown. Such
// a full counter refuses all commands.
func amountAfter(amount money.Amount, g *ledger.CounterGuard) (money.Amount, error) {
	if g.IsRelease {
		if amount == money.Max {
			return amount, nil
		}
		return amount.Sub(g.Add)
	}
	return amount.Add(g.Add)
}

// counter returns a counter. Its amount includes changes that are in a group but not durable yet. If the counter is not cached,
// it is read from the store.
func (w *writer) counter(k counterKey) *counter {
	c, ok := w.counters.get(k)
	if ok {
		return c
	}
	w.key = store.KeyCounter(w.key[:0], k.org, k.key, k.window)
	row, found, err := w.snapshot().Get(w.key, w.value[:0])
	w.must(err)
	c = &counter{counterKey: k}
	if found {
		c.amount, err = store.DecodeAmount(row)
		w.must(err)
	}
	w.counters.set(k, c)
	return c
}

// checkFunds checks the funds guards of a change. Each guard is compared with the totals that its account will have after the
// whole change, with all holds, postings, releases and splits.
func (w *writer) checkFunds(c *Change) *ledger.Refusal {
	if len(c.Funds) == 0 {
		return nil
	}
	if err := w.projectAll(c); err != nil {
		return ledger.Refuse("posting.Submit", ledger.OutOfRange, "%v", err)
	}
	for i := range c.Funds {
		g := &c.Funds[i]
		floor := money.Signed{Negative: !g.Overdraft.IsZero(), Abs: g.Overdraft}
		if w.projection.totals(g.Org, g.Account).Available().Less(floor) {
			return ledger.Refuse("posting.Submit", ledger.InsufficientFunds, "%s", g.Account.Path)
		}
	}
	return nil
}

// projectAll books the entries of all steps in w.projection only, so no balance changes.
func (w *writer) projectAll(c *Change) error {
	w.projection.reset()
	for i := range c.Steps {
		s := &c.Steps[i]
		for k := range s.Events {
			if entry := s.Events[k].Entry; entry != nil {
				if err := w.projection.book(s.Org, entry); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkRange refuses a command that could raise a total above half of the largest amount. Every total that the command changes
// must be below a quarter of the largest amount before the command, and so must be the sum of the command's postings. Outcomes
// are not checked, because [ledger.ReserveHeadroom] has reserved their amounts before the provider was called.
func (w *writer) checkRange(c *Change) *ledger.Refusal {
	var sum money.Amount
	for i := range c.Steps {
		s := &c.Steps[i]
		for k := range s.Events {
			entry := s.Events[k].Entry
			if entry == nil {
				continue
			}
			for n := range entry.Postings {
				p := &entry.Postings[n]
				var err error
				if sum, err = sum.Add(p.Amount); err != nil || !sum.Less(quarterOfMax) || !w.hasSmallTotals(s.Org, p) {
					return ledger.Refuse("posting.Submit", ledger.OutOfRange, "%s", p.Account)
				}
			}
		}
	}
	return nil
}

// quarterOfMax is a quarter of the largest amount.
var quarterOfMax = func() money.Amount {
	a, err := money.Max.DivFloor(money.FromUint64(4))
	assert.NoError(err)
	return a
}()

// hasSmallTotals tells whether all totals of the accounts that a posting may change are below a quarter of the largest amount.
func (w *writer) hasSmallTotals(org ledger.ID, p *ledger.Posting) bool {
	return w.account(org, ledger.Account{Path: p.Account, Asset: p.Asset}).hasSmallTotals() &&
		(p.SplitWith == "" || w.account(org, ledger.Account{Path: p.SplitWith, Asset: p.Asset}).hasSmallTotals())
}

func (b *balance) hasSmallTotals() bool {
	t := &b.totals
	return t.DebitsPosted.Less(quarterOfMax) && t.CreditsPosted.Less(quarterOfMax) && t.DebitsPending.Less(quarterOfMax) && t.CreditsPending.Less(quarterOfMax)
}

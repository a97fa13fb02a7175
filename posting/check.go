package posting

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
)

// check looks for a reason to refuse a change, in a fixed order: claims, closing of a month,
// versions, dates, counters, funds, range. It changes nothing.
func (w *writer) check(c *Change) Receipt {
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
		if stamp := w.stamp(s); stamp.Version != s.Expect {
			return Receipt{Err: ledger.Refuse("posting.Submit", ledger.StaleVersion, "version %d is stored, %d was expected", stamp.Version, s.Expect)}
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

// owner tells whether a claim's key is taken, and returns the owner. The key may be taken by an earlier claim of the
// same change, by a change in the group being prepared (the changes that become durable together) or in the group
// before it, or in the store.
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

// stamp returns a record's stamp (its version and other data beside the payload), as it is after the last
// change that the orderer has put into a group.
func (w *writer) stamp(s *Step) Stamp {
	if s.Record == nil {
		return Stamp{} // of such a record only the event is stored
	}
	k := dueKey{s.Org, s.Source}
	if stamp, ok := w.stamps.get(k); ok || s.isCertainlyNew() {
		return stamp
	}
	w.key = store.KeyRecord(w.key[:0], s.Org, s.Source)
	row, found, err := w.snapshot().Get(w.key, w.value[:0])
	w.must(err)
	if !found {
		return Stamp{}
	}
	envelope, _, ok := store.DecodeRecord(row)
	if !ok {
		w.must(damaged("record %v: unknown form", s.Source.ID))
	}
	w.value = row[:0]
	stamp := Stamp(envelope)
	w.stamps.set(k, stamp)
	return stamp
}

// isCertainlyNew tells whether the record certainly is not in the store, because its random id was generated for
// this change. (A record of an earlier change that is not durable yet has its stamp in the cache.)
func (s *Step) isCertainlyNew() bool {
	return s.Expect == 0 && (s.Source.Kind == ledger.Transaction || s.Source.Kind == ledger.Transfer) && s.Source.ID.Version() == 4
}

// checkCounters checks each guard against its counter, as the preceding guards leave the counter. If a guard
// refuses the change, it returns that guard's index.
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

// projectedAmount returns the amount of a guard's counter as the preceding guards of the change leave it.
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

// amountAfter returns a counter's amount after a guard. A counter that an outcome has filled to the
// maximum of all amounts stays full: its true amount is unknown, and a full counter refuses all commands.
func amountAfter(amount money.Amount, g *ledger.CounterGuard) (money.Amount, error) {
	if g.IsRelease {
		if amount == money.Max {
			return amount, nil
		}
		return amount.Sub(g.Add)
	}
	return amount.Add(g.Add)
}

// counter returns a counter as it is after the last change that the orderer has put into a group. If the counter
// is not cached, that takes one read.
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

// checkFunds checks each funds guard on the account's totals after the whole change, with its
// holds, postings, releases and splits.
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

// projectAll books the entries of all steps in the projection, which changes no balance.
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

// checkRange refuses a command that could bring a total to half of its range: a command may begin only
// with totals in the lowest quarter of their range, and move less than a quarter. An outcome stays in
// range because its amounts were counted before the provider was called (ledger.Headroom).
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
				if sum, err = sum.Add(p.Amount); err != nil || !sum.Less(quarter) || !w.hasSmallTotals(s.Org, p) {
					return ledger.Refuse("posting.Submit", ledger.OutOfRange, "%s", p.Account)
				}
			}
		}
	}
	return nil
}

// quarter is a quarter of an amount's range.
var quarter = func() money.Amount {
	a, err := money.Max.DivFloor(money.FromUint64(4))
	assert.NoError(err)
	return a
}()

// hasSmallTotals tells whether all totals of each account that a posting may change are in the lowest quarter of
// their range.
func (w *writer) hasSmallTotals(org ledger.ID, p *ledger.Posting) bool {
	return w.account(org, ledger.Account{Path: p.Account, Asset: p.Asset}).hasSmallTotals() &&
		(p.Spill == "" || w.account(org, ledger.Account{Path: p.Spill, Asset: p.Asset}).hasSmallTotals())
}

func (b *balance) hasSmallTotals() bool {
	t := &b.totals
	return t.DebitsPosted.Less(quarter) && t.CreditsPosted.Less(quarter) && t.DebitsPending.Less(quarter) && t.CreditsPending.Less(quarter)
}

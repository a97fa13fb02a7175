package posting

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
)

// check looks for what speaks against a change, in a fixed order: claims,
// versions, counters, funds, range. It changes nothing.
func (w *writer) check(c *Change) Receipt {
	if owner, refusal := w.checkClaims(c); refusal != nil {
		return Receipt{Err: refusal, Owner: owner}
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if stamp := w.stamp(s); stamp.Version != s.Expect {
			return Receipt{Err: ledger.Refuse("posting.Submit", ledger.StaleVersion, "version %d is stored, %d was expected", stamp.Version, s.Expect)}
		}
	}
	if c.Outcome {
		return Receipt{}
	}
	if refusal := w.checkCounters(c); refusal != nil {
		return Receipt{Err: refusal}
	}
	if refusal := w.checkFunds(c); refusal != nil {
		return Receipt{Err: refusal}
	}
	if refusal := w.checkRange(c); refusal != nil {
		return Receipt{Err: refusal}
	}
	return Receipt{}
}

func (w *writer) checkClaims(c *Change) ([]byte, *ledger.Refusal) {
	for i := range c.Claims {
		claim := &c.Claims[i]
		w.key = store.KeyClaim(w.key[:0], claim.Org, claim.Kind, claim.Key)
		owner, taken := w.claims[0][string(w.key)]
		if !taken {
			owner, taken = w.claims[1][string(w.key)]
		}
		if !taken {
			var err error
			owner, taken, err = w.snapshot().Get(w.key, nil)
			w.must(err)
		}
		if taken {
			return owner, ledger.Refuse("posting.Submit", ledger.ClaimTaken, "the key is taken")
		}
	}
	return nil, nil
}

// stamp is a record's envelope as of the last change ordered.
func (w *writer) stamp(s *Step) Stamp {
	k := dueKey{s.Org, s.Source}
	if stamp, ok := w.stamps.get(k); ok || s.fresh() {
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

// fresh tells that a record cannot be in the store: its id is random and was
// made for this change. What is in flight is in the cache all the same.
func (s *Step) fresh() bool {
	return s.Expect == 0 && (s.Source.Kind == ledger.Transaction || s.Source.Kind == ledger.Transfer) && s.Source.ID.Version() == 4
}

func (w *writer) checkCounters(c *Change) *ledger.Refusal {
	for i := range c.Counters {
		g := &c.Counters[i]
		if g.Release {
			continue
		}
		sum, err := w.counter(counterKey{g.Org, g.Key, g.Window}).Add(g.Add)
		if err != nil || g.Max.Less(sum) {
			return ledger.Refuse("posting.Submit", g.Refuse, "%s", g.Key)
		}
	}
	return nil
}

func (w *writer) counter(k counterKey) money.Amount {
	if amount, ok := w.counters.get(k); ok {
		return amount
	}
	w.key = store.KeyCounter(w.key[:0], k.org, k.key, k.window)
	row, found, err := w.snapshot().Get(w.key, w.value[:0])
	w.must(err)
	var amount money.Amount
	if found {
		amount, err = store.DecodeAmount(row)
		w.must(err)
	}
	w.counters.set(k, amount)
	return amount
}

// checkFunds judges each funds guard on the account as it would be after the
// change: what it holds or posts on the account, debits against credits.
func (w *writer) checkFunds(c *Change) *ledger.Refusal {
	for i := range c.Funds {
		g := &c.Funds[i]
		after, err := w.available(g, c)
		floor := money.Signed{Negative: !g.Overdraft.IsZero(), Abs: g.Overdraft}
		if err != nil || after.Less(floor) {
			return ledger.Refuse("posting.Submit", ledger.InsufficientFunds, "%s", g.Account.Path)
		}
	}
	return nil
}

func (w *writer) available(g *ledger.FundsGuard, c *Change) (money.Signed, error) {
	totals := w.account(g.Org, g.Account).totals
	for i := range c.Steps {
		s := &c.Steps[i]
		for k := range s.Events {
			if entry := s.Events[k].Entry; entry != nil && s.Org == g.Org {
				if err := foresee(&totals, entry, g.Account); err != nil {
					return money.Signed{}, err
				}
			}
		}
	}
	return totals.Available(), nil
}

// foresee applies to totals what an entry does to one account. A pending
// credit makes nothing available, so only its debits count.
func foresee(t *ledger.Totals, entry *ledger.Entry, a ledger.Account) error {
	for _, p := range entry.Released {
		if p.Account == a.Path && p.Asset == a.Asset {
			if err := t.Release(p.Side, p.Amount); err != nil {
				return err
			}
		}
	}
	for _, p := range entry.Postings {
		if p.Account != a.Path || p.Asset != a.Asset {
			continue
		}
		var err error
		switch entry.Phase {
		case ledger.Pending:
			err = t.Hold(p.Side, p.Amount)
		case ledger.Posted, ledger.Capture:
			err = t.Post(p.Side, p.Amount)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRange refuses a command that would take a total past half its range.
// Outcomes are kept in range by the headroom counter that their intent moved.
func (w *writer) checkRange(c *Change) *ledger.Refusal {
	for i := range c.Steps {
		s := &c.Steps[i]
		for k := range s.Events {
			entry := s.Events[k].Entry
			if entry == nil {
				continue
			}
			for n := range entry.Postings {
				p := &entry.Postings[n]
				if !half.Less(p.Amount) && w.account(s.Org, ledger.Account{Path: p.Account, Asset: p.Asset}).small() {
					continue
				}
				return ledger.Refuse("posting.Submit", ledger.OutOfRange, "%s", p.Account)
			}
		}
	}
	return nil
}

// half leaves room for the MaxPostings × MaxEvents postings of one change.
var half = func() money.Amount {
	a, err := money.Max.DivFloor(money.FromUint64(4 * ledger.MaxPostings * MaxEvents))
	if err != nil {
		panic(err)
	}
	return a
}()

func (b *balance) small() bool {
	quarter, _ := money.Max.DivFloor(money.FromUint64(4))
	t := &b.totals
	return t.DebitsPosted.Less(quarter) && t.CreditsPosted.Less(quarter) && t.DebitsPending.Less(quarter) && t.CreditsPending.Less(quarter)
}

package payment_test

import (
	"math/big"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// books is a simple ledger for the tests. It has the sums of postings in unbounded integers, the counters, and the held
// postings of each record.
type books struct {
	t        *rapid.T
	accounts map[ledger.Account]*sums
	counters map[string]*big.Int
	holds    map[ledger.ID][]ledger.Posting
}

// sums are an account's totals, indexed by side (ledger.Debit, ledger.Credit).
type sums struct{ posted, pending [3]big.Int }

func newBooks(t *rapid.T) *books {
	return &books{t: t, accounts: map[ledger.Account]*sums{}, counters: map[string]*big.Int{}, holds: map[ledger.ID][]ledger.Posting{}}
}

func number(a money.Amount) *big.Int {
	n, ok := new(big.Int).SetString(a.String(), 10)
	if !ok {
		panic(a)
	}
	return n
}

func amountOf(n *big.Int) money.Amount { return money.MustParse(n.String()) }

func (b *books) account(path ledger.Path, asset money.Asset) *sums {
	a := ledger.Account{Path: path, Asset: asset}
	if b.accounts[a] == nil {
		b.accounts[a] = new(sums)
	}
	return b.accounts[a]
}

// available returns posted credits less posted debits less pending debits.
func (s *sums) available() *big.Int {
	n := new(big.Int).Sub(&s.posted[ledger.Credit], &s.posted[ledger.Debit])
	return n.Sub(n, &s.pending[ledger.Debit])
}

// owed returns posted debits less posted credits. On a debt account, this is the partner's debt.
func (s *sums) owed() *big.Int {
	return new(big.Int).Sub(&s.posted[ledger.Debit], &s.posted[ledger.Credit])
}

// apply books a decision as the journal's writer does. It adds the posted changes of each account to net.
func (b *books) apply(d *payment.Decision, net map[ledger.Account]*big.Int) {
	for i := range d.Events {
		e := &d.Events[i]
		step, ok := payment.Machine.Next(stateOf(e.From), payment.Event(e.Name))
		if !ok || string(step.To) != e.To {
			b.t.Fatalf("%s leads from %q to %q: no step of the machine", e.Name, e.From, e.To)
		}
		if e.Entry != nil {
			if !payment.Event(e.Name).MovesMoney() {
				b.t.Fatalf("%s has an entry", e.Name)
			}
			b.book(d.Record.ID, e, net)
		}
	}
	for i := range d.Counters {
		b.count(&d.Counters[i])
	}
	if d.Return != nil {
		b.apply(d.Return, net)
	}
}

func stateOf(from string) payment.Status {
	if from == "" {
		return payment.Absent
	}
	return payment.Status(from)
}

// book books an event's entry. id is the record's id.
func (b *books) book(id ledger.ID, e *ledger.Event, net map[ledger.Account]*big.Int) {
	if err := e.Entry.Check(); err != nil {
		b.t.Fatalf("%s: %v", e.Name, err)
	}
	releasedPostings := e.Entry.Postings
	switch e.Entry.Phase {
	case ledger.Pending:
		if b.holds[id] != nil {
			b.t.Fatalf("%s holds money although a hold is open", e.Name)
		}
		b.holds[id] = slices.Clone(e.Entry.Postings)
		b.hold(e.Entry.Postings, 1)
		return
	case ledger.Capture:
		releasedPostings = e.Entry.Released
		fallthrough
	case ledger.Void:
		if !slices.Equal(b.holds[id], releasedPostings) {
			b.t.Fatalf("%s closes %v, %v is held", e.Name, releasedPostings, b.holds[id])
		}
		delete(b.holds, id)
		b.hold(releasedPostings, -1)
	}
	if e.Entry.Phase != ledger.Void {
		for i := range e.Entry.Postings {
			b.post(&e.Entry.Postings[i], net)
		}
	}
}

// hold adds the postings to the pending totals, or subtracts them if sign is -1.
func (b *books) hold(postings []ledger.Posting, sign int64) {
	for i := range postings {
		p := &postings[i]
		total := &b.account(p.Account, p.Asset).pending[p.Side]
		if total.Add(total, new(big.Int).Mul(number(p.Amount), big.NewInt(sign))); total.Sign() < 0 {
			b.t.Fatalf("%s: %v pending", p.Account, total)
		}
	}
}

// post books a posting. If the posting has a Spill account, it splits the amount between the partner's balance and the
// partner's debt. A credit pays the debt first. The part of a debit above the available balance becomes debt.
func (b *books) post(p *ledger.Posting, net map[ledger.Account]*big.Int) {
	amount := number(p.Amount)
	change := new(big.Int).Set(amount)
	if p.Side == ledger.Debit {
		change.Neg(change)
	}
	key := ledger.Account{Path: p.Account, Asset: p.Asset}
	if net[key] == nil {
		net[key] = new(big.Int)
	}
	net[key].Add(net[key], change) // net has one sum for the partner's balance and debt together

	account := b.account(p.Account, p.Asset)
	debtPart := new(big.Int)
	if p.SplitWith != "" {
		debt := b.account(p.SplitWith, p.Asset)
		if p.Side == ledger.Credit {
			debtPart = coveredPart(debt.owed(), amount)
		} else {
			debtPart.Sub(amount, coveredPart(account.available(), amount))
		}
		debt.posted[p.Side].Add(&debt.posted[p.Side], debtPart)
	}
	account.posted[p.Side].Add(&account.posted[p.Side], amount.Sub(amount, debtPart))
}

// coveredPart returns the part of an amount that the available sum covers; zero if that sum is negative.
func coveredPart(available, amount *big.Int) *big.Int {
	switch {
	case available.Sign() < 0:
		return new(big.Int)
	case available.Cmp(amount) > 0:
		return new(big.Int).Set(amount)
	}
	return available
}

// count applies a guard to its counter.
func (b *books) count(g *ledger.CounterGuard) {
	known := slices.ContainsFunc([]string{"headroom/", "volume/", "settled/"}, func(kind string) bool { return strings.HasPrefix(g.Key, kind) })
	if g.Org != testContext.Org || !known || g.Window != "" {
		b.t.Fatalf("counter %s %s", g.Key, g.Window)
	}
	n := b.counters[g.Key]
	if n == nil {
		n = new(big.Int)
		b.counters[g.Key] = n
	}
	if g.IsRelease {
		n.Sub(n, number(g.Add))
	} else {
		n.Add(n, number(g.Add))
	}
	if n.Sign() < 0 {
		b.t.Fatalf("%s: more was released than was reserved", g.Key)
	}
}

// countersAccept tells whether all counters accept a decision, and returns the index of the first guard whose counter
// refuses it. Each guard is checked after the preceding ones were applied.
func (b *books) countersAccept(d *payment.Decision) (refusing int, accepted bool) {
	counters := map[string]*big.Int{}
	for i := range d.Counters {
		g := &d.Counters[i]
		n := counters[g.Key]
		if n == nil {
			n = new(big.Int)
			if b.counters[g.Key] != nil {
				n.Set(b.counters[g.Key])
			}
			counters[g.Key] = n
		}
		if g.IsRelease {
			n.Sub(n, number(g.Add))
		} else if n.Add(n, number(g.Add)).Cmp(number(g.Max)) > 0 {
			return i, false
		}
	}
	return 0, true
}

// fundsAvailable tells whether the accounts that a decision debits have enough money.
func (b *books) fundsAvailable(d *payment.Decision) bool {
	for _, g := range d.Funds {
		balance := new(big.Int).Set(b.account(g.Account.Path, g.Account.Asset).available())
		for i := range d.Events {
			e := d.Events[i].Entry
			if e == nil {
				continue
			}
			for _, p := range e.Postings {
				switch {
				case p.Account != g.Account.Path || p.Asset != g.Account.Asset || p.Side != ledger.Debit:
				case e.Phase == ledger.Void:
					balance.Add(balance, number(p.Amount))
				default:
					balance.Sub(balance, number(p.Amount))
				}
			}
		}
		if balance.Add(balance, number(g.Overdraft)).Sign() < 0 {
			return false
		}
	}
	return true
}

// fund gives partner 1 money for payouts, and adds it to the asset's headroom counter.
func (b *books) fund(asset money.Asset, amount money.Amount) {
	if amount.IsZero() {
		return
	}
	net := map[ledger.Account]*big.Int{}
	b.post(&ledger.Posting{Account: ledger.Bank, Asset: asset, Side: ledger.Debit, Amount: amount}, net)
	b.post(&ledger.Posting{Account: ledger.PartnerAvailable(1), Asset: asset, Side: ledger.Credit, Amount: amount}, net)
	guard := ledger.ReserveHeadroom(testContext.Org, asset, amount)
	b.count(&guard)
}

// check runs after every decision: debits equal credits, no debt is negative, and no total
// exceeds the headroom reserved for it.
func (b *books) check() {
	type netTotals struct{ posted, pending big.Int } // debits less credits
	assets := map[money.Asset]*netTotals{}
	for a, s := range b.accounts {
		if assets[a.Asset] == nil {
			assets[a.Asset] = new(netTotals)
		}
		total := assets[a.Asset]
		reserved := b.counters["headroom/"+a.Asset.String()]
		for side, sign := range map[ledger.Side]int64{ledger.Debit: 1, ledger.Credit: -1} {
			total.posted.Add(&total.posted, new(big.Int).Mul(&s.posted[side], big.NewInt(sign)))
			total.pending.Add(&total.pending, new(big.Int).Mul(&s.pending[side], big.NewInt(sign)))
			if s.posted[side].Sign() != 0 && (reserved == nil || s.posted[side].Cmp(reserved) > 0) {
				b.t.Fatalf("%v: %v posted on %v, %v is reserved", a, &s.posted[side], side, reserved)
			}
			if s.pending[side].Sign() != 0 && (reserved == nil || s.pending[side].Cmp(reserved) > 0) {
				b.t.Fatalf("%v: %v pending on %v, %v is reserved", a, &s.pending[side], side, reserved)
			}
		}
		if strings.HasSuffix(string(a.Path), ":receivable") && s.owed().Sign() < 0 {
			b.t.Fatalf("%v: %v is owed", a, s.owed())
		}
	}
	for asset, total := range assets {
		if total.posted.Sign() != 0 || total.pending.Sign() != 0 {
			b.t.Fatalf("%v: debits less credits are %v, pending %v", asset, &total.posted, &total.pending)
		}
	}
}

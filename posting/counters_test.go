package posting_test

import (
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// guards returns a change of one posting with these guards.
func guards(all ...ledger.CounterGuard) *posting.Change {
	c := deposit()
	c.Counters = all
	return c
}

// takes and gives are guards of a counter with the maximum 100.
func takes(key string, n uint64) ledger.CounterGuard {
	return ledger.CounterGuard{Org: org, Key: key, Add: amount(n), Max: amount(100), Refuse: ledger.LimitExceeded}
}

func gives(key string, n uint64) ledger.CounterGuard {
	return ledger.CounterGuard{Org: org, Key: key, Add: amount(n), Release: true}
}

// stops checks that the guard at an index refuses a change, and that nothing changes.
func (f *fixture) stops(at int, c *posting.Change) {
	f.t.Helper()
	before := f.sums(c)
	receipt := f.submit(c)
	wantCode(f.t, receipt.Err, ledger.LimitExceeded)
	if receipt.Counter != at {
		f.t.Errorf("counter %d refuses, want %d", receipt.Counter, at)
	}
	for key, sum := range f.sums(c) {
		if before[key] != sum {
			f.t.Errorf("%s was %v and is %v", key, before[key], sum)
		}
	}
}

func (f *fixture) sums(c *posting.Change) map[string]money.Amount {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	sums := make(map[string]money.Amount)
	for i := range c.Counters {
		g := &c.Counters[i]
		sum, err := v.Counter(g.Org, g.Key, g.Window)
		if err != nil {
			f.t.Fatal(err)
		}
		sums[g.Key] = sum
	}
	return sums
}

func TestReceiptNamesTheFirstRefusingCounter(t *testing.T) {
	f := open(t)
	f.must(guards(takes("a", 90), takes("b", 100), takes("c", 40)))
	f.stops(0, guards(takes("a", 11)))
	f.stops(1, guards(takes("a", 10), takes("b", 1)))
	f.stops(2, guards(takes("c", 60), takes("a", 10), takes("b", 1), takes("a", 1)))
	f.stops(2, guards(gives("c", 40), gives("a", 90), takes("b", 1))) // a release never refuses
	f.stops(1, guards(takes("c", 60), takes("c", 1)))
	if receipt := f.must(guards(takes("a", 10), takes("c", 60))); receipt.Counter != 0 {
		t.Errorf("counter %d", receipt.Counter)
	}
}

// A claim and a stale version are checked before counters, funds after them; none of the guards
// refuses an outcome.
func TestCountersAreCheckedAfterVersionsAndBeforeFunds(t *testing.T) {
	f := open(t)
	full := guards(takes("a", 100), takes("b", 101))
	full.Funds = []ledger.FundsGuard{{Org: org, Account: ledger.Account{Path: "L:partner:9:available", Asset: usd}}}
	full.Steps[0].Events[0].Entry.Postings[0].Account = "L:partner:9:available"
	f.stops(1, full)
	full.Counters = full.Counters[:1]
	receipt := f.submit(full)
	wantCode(t, receipt.Err, ledger.InsufficientFunds)
	stale := guards(takes("a", 101))
	stale.Steps[0].Expect = 3
	wantCode(t, f.submit(stale).Err, ledger.StaleVersion)
	outcome := guards(takes("a", 101))
	outcome.MustRecord = true
	f.must(outcome)
	f.stops(0, guards(takes("a", 1)))
}

// A release in a change makes room for the guards after it, not before, also for a counter that
// is only in the store.
func TestDecrementMakesRoomForALaterIncrementOfTheSameChange(t *testing.T) {
	f := open(t)
	f.must(guards(takes("a", 100)))
	for range 2 {
		f.stops(0, guards(takes("a", 1), gives("a", 100)))
		f.stops(1, guards(gives("a", 100), takes("a", 101)))
		f.stops(2, guards(gives("a", 100), takes("a", 60), takes("a", 41)))
		f.must(guards(gives("a", 100), takes("a", 60), gives("a", 20), takes("a", 60)))
		if sum := f.sums(guards(takes("a", 0)))["a"]; sum != amount(100) {
			t.Errorf("%v", sum)
		}
		f.restart()
	}
}

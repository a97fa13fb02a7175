package posting_test

import (
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// guards returns a deposit with these counter guards.
func guards(all ...ledger.CounterGuard) *posting.Change {
	c := deposit()
	c.Counters = all
	return c
}

// increment and release return guards of a counter whose maximum is 100.
func increment(key string, n uint64) ledger.CounterGuard {
	return ledger.CounterGuard{Org: org, Key: key, Add: amount(n), Max: amount(100), Refuse: ledger.LimitExceeded}
}

func release(key string, n uint64) ledger.CounterGuard {
	return ledger.CounterGuard{Org: org, Key: key, Add: amount(n), Release: true}
}

// wantRefusedBy submits a change, and checks that the guard at the index refuses it and that no counter of the
// guards changes.
func (f *fixture) wantRefusedBy(at int, c *posting.Change) {
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
	f.must(guards(increment("a", 90), increment("b", 100), increment("c", 40)))
	f.wantRefusedBy(0, guards(increment("a", 11)))
	f.wantRefusedBy(1, guards(increment("a", 10), increment("b", 1)))
	f.wantRefusedBy(2, guards(increment("c", 60), increment("a", 10), increment("b", 1), increment("a", 1)))
	f.wantRefusedBy(2, guards(release("c", 40), release("a", 90), increment("b", 1))) // a release never refuses
	f.wantRefusedBy(1, guards(increment("c", 60), increment("c", 1)))
	if receipt := f.must(guards(increment("a", 10), increment("c", 60))); receipt.Counter != 0 {
		t.Errorf("counter %d", receipt.Counter)
	}
}

// Claims and versions are checked before counters, and funds after them. An outcome is refused by none of its
// counter guards.
func TestCountersAreCheckedAfterVersionsAndBeforeFunds(t *testing.T) {
	f := open(t)
	refused := guards(increment("a", 100), increment("b", 101))
	refused.Funds = []ledger.FundsGuard{{Org: org, Account: ledger.Account{Path: "L:partner:9:available", Asset: usd}}}
	refused.Steps[0].Events[0].Entry.Postings[0].Account = "L:partner:9:available"
	f.wantRefusedBy(1, refused)
	refused.Counters = refused.Counters[:1]
	receipt := f.submit(refused)
	wantCode(t, receipt.Err, ledger.InsufficientFunds)
	stale := guards(increment("a", 101))
	stale.Steps[0].Expect = 3
	wantCode(t, f.submit(stale).Err, ledger.StaleVersion)
	outcome := guards(increment("a", 101))
	outcome.MustRecord = true
	f.must(outcome)
	f.wantRefusedBy(0, guards(increment("a", 1)))
}

// A release makes room for the later guards of its change, but not for the earlier ones. That also holds for a
// counter that is not cached.
func TestDecrementMakesRoomForALaterIncrementOfTheSameChange(t *testing.T) {
	f := open(t)
	f.must(guards(increment("a", 100)))
	for range 2 {
		f.wantRefusedBy(0, guards(increment("a", 1), release("a", 100)))
		f.wantRefusedBy(1, guards(release("a", 100), increment("a", 101)))
		f.wantRefusedBy(2, guards(release("a", 100), increment("a", 60), increment("a", 41)))
		f.must(guards(release("a", 100), increment("a", 60), release("a", 20), increment("a", 60)))
		if sum := f.sums(guards(increment("a", 0)))["a"]; sum != amount(100) {
			t.Errorf("%v", sum)
		}
		f.restart()
	}
}

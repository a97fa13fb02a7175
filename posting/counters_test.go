package posting_test

import (
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// depositWithGuards returns a deposit with the given counter guards.
func depositWithGuards(guards ...ledger.CounterGuard) *posting.Change {
	c := deposit()
	c.Counters = guards
	return c
}

// increment returns a guard that adds n to a counter and refuses a sum above 100.
func increment(key string, n uint64) ledger.CounterGuard {
	return ledger.CounterGuard{Org: org, Key: key, Add: amount(n), Max: amount(100), RefusalCode: ledger.LimitExceeded}
}

// release returns a guard that subtracts n from a counter.
func release(key string, n uint64) ledger.CounterGuard {
	return ledger.CounterGuard{Org: org, Key: key, Add: amount(n), IsRelease: true}
}

// wantRefusedBy submits a change. It checks that the counter guard with this index refuses the change and that no counter has
// changed.
func (f *fixture) wantRefusedBy(index int, c *posting.Change) {
	f.t.Helper()
	oldAmounts := f.amounts(c)
	receipt := f.submit(c)
	wantCode(f.t, receipt.Err, ledger.LimitExceeded)
	if receipt.Counter != index {
		f.t.Errorf("counter %d refuses, want %d", receipt.Counter, index)
	}
	for key, sum := range f.amounts(c) {
		if oldAmounts[key] != sum {
			f.t.Errorf("%s was %v and is %v", key, oldAmounts[key], sum)
		}
	}
}

// amounts returns the amounts of all counters that the change's guards name. The keys of the map are the keys of the
// counters.
func (f *fixture) amounts(c *posting.Change) map[string]money.Amount {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	amounts := make(map[string]money.Amount)
	for i := range c.Counters {
		g := &c.Counters[i]
		sum, err := v.Counter(g.Org, g.Key, g.Window)
		if err != nil {
			f.t.Fatal(err)
		}
		amounts[g.Key] = sum
	}
	return amounts
}

func TestReceiptNamesTheFirstRefusingCounter(t *testing.T) {
	f := open(t)
	f.must(depositWithGuards(increment("a", 90), increment("b", 100), increment("c", 40)))
	f.wantRefusedBy(0, depositWithGuards(increment("a", 11)))
	f.wantRefusedBy(1, depositWithGuards(increment("a", 10), increment("b", 1)))
	f.wantRefusedBy(2, depositWithGuards(increment("c", 60), increment("a", 10), increment("b", 1), increment("a", 1)))
	f.wantRefusedBy(2, depositWithGuards(release("c", 40), release("a", 90), increment("b", 1))) // a release never refuses
	f.wantRefusedBy(1, depositWithGuards(increment("c", 60), increment("c", 1)))
	if receipt := f.must(depositWithGuards(increment("a", 10), increment("c", 60))); receipt.Counter != 0 {
		t.Errorf("counter %d", receipt.Counter)
	}
}

// Counters are checked after versions and before funds. A counter guard never refuses an outcome (a change marked
// MustRecord).
func TestCountersAreCheckedAfterVersionsAndBeforeFunds(t *testing.T) {
	f := open(t)
	change := depositWithGuards(increment("a", 100), increment("b", 101))
	change.Funds = []ledger.FundsGuard{{Org: org, Account: ledger.Account{Path: "L:partner:9:available", Asset: usd}}}
	change.Steps[0].Events[0].Entry.Postings[0].Account = "L:partner:9:available"
	f.wantRefusedBy(1, change)
	change.Counters = change.Counters[:1]
	receipt := f.submit(change)
	wantCode(t, receipt.Err, ledger.InsufficientFunds)
	staleChange := depositWithGuards(increment("a", 101))
	staleChange.Steps[0].Expect = 3
	wantCode(t, f.submit(staleChange).Err, ledger.StaleVersion)
	outcome := depositWithGuards(increment("a", 101))
	outcome.MustRecord = true
	f.must(outcome)
	f.wantRefusedBy(0, depositWithGuards(increment("a", 1)))
}

// A release makes room for the guards that follow it in the change, but not for those before it. This holds whether the
// counter is cached or not.
func TestReleaseMakesRoomForALaterIncrementOfTheSameChange(t *testing.T) {
	f := open(t)
	f.must(depositWithGuards(increment("a", 100)))
	for range 2 {
		f.wantRefusedBy(0, depositWithGuards(increment("a", 1), release("a", 100)))
		f.wantRefusedBy(1, depositWithGuards(release("a", 100), increment("a", 101)))
		f.wantRefusedBy(2, depositWithGuards(release("a", 100), increment("a", 60), increment("a", 41)))
		f.must(depositWithGuards(release("a", 100), increment("a", 60), release("a", 20), increment("a", 60)))
		if sum := f.amounts(depositWithGuards(increment("a", 0)))["a"]; sum != amount(100) {
			t.Errorf("%v", sum)
		}
		f.restart()
	}
}

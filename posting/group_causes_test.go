package posting_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/posting"
)

// OnGroup of Stats gets the causes of the changes of a group, up to a maximum number. It does not get those of refused
// changes.
func TestGroupHasTheCausesOfItsChanges(t *testing.T) {
	f := open(t)
	groups := make(chan posting.DurableGroup, 256)
	f.Stats.OnGroup = func(g posting.DurableGroup) {
		g.Causes = slices.Clone(g.Causes)
		groups <- g
	}
	change := func(n byte) *posting.Change {
		c := transfer(ledger.Posted, line("A:bank", ledger.Debit, 5), line("L:partner:1:available", ledger.Credit, 5))
		if n > 0 {
			c.Cause = &tracing.Origin{Request: uuid.UUID{n}}
		}
		return c
	}
	f.must(change(1))
	if g := <-groups; g.Changes != 1 || g.Rows == 0 || g.Bytes == 0 || len(g.Causes) != 1 || g.Causes[0].Request != (uuid.UUID{1}) {
		t.Errorf("the group is %+v", g)
	}
	f.must(change(0))
	if g := <-groups; len(g.Causes) != 0 {
		t.Errorf("the group has causes of another: %+v", g)
	}
	const many = 100
	receipts := make(chan posting.Receipt, many)
	for n := range many {
		f.Submit(change(byte(n+1)), func(r posting.Receipt) { receipts <- r })
	}
	for changes := 0; changes < many; {
		g := <-groups
		if len(g.Causes) != min(g.Changes, 32) {
			t.Errorf("%d changes have %d causes", g.Changes, len(g.Causes))
		}
		changes += g.Changes
	}
	for range many {
		if r := <-receipts; r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

package orders

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestOrderCheckDetectsWrongResponses(t *testing.T) {
	o := newOrder("t-1", rand.New(rand.NewPCG(1, 1)), true)
	o.Card = "4000000000000002"
	finished := "2026-11-21T00:00:01Z"
	declined := State{
		ID: "a", TxID: "t-1", Type: o.Kind, Status: "rejected", Error: "card_declined", Amount: fmt.Sprint(o.Amount),
		Currency: Currency, Env: o.Env, Started: "2026-11-21T00:00:00Z", Finished: &finished,
	}
	pending := declined
	pending.Status, pending.Error, pending.Finished = "authorizing", "", nil
	for _, c := range []struct {
		name     string
		previous State
		change   func(*State)
		isValid  bool
	}{
		{"the first response", State{}, func(*State) {}, true},
		{"the same final response again", declined, func(*State) {}, true},
		{"the transaction has ended", pending, func(*State) {}, true},
		{"interrupted", pending, func(r *State) { r.Status, r.Error = "failed", "interrupted" }, true},
		{"a second transaction", pending, func(r *State) { r.ID = "b" }, false},
		{"another start time", pending, func(r *State) { r.Started = finished }, false},
		{"a final status that changes", declined, func(r *State) { r.Status, r.Error = "failed", "interrupted" }, false},
		{"a final status taken back", declined, func(r *State) { *r = pending }, false},
		{"another reason", declined, func(r *State) { r.Error = "" }, false},
		{"a charge of a declined card", State{}, func(r *State) { r.Status, r.Error = "charged", "" }, false},
		{"another amount", State{}, func(r *State) { r.Amount = "0" }, false},
		{"another txid", State{}, func(r *State) { r.TxID = "t-2" }, false},
		{"another environment", State{}, func(r *State) { r.Env = "" }, false},
		{"no id", State{}, func(r *State) { r.ID = "" }, false},
		{"a status that no order can have", pending, func(r *State) { r.Status = "reversed" }, false},
	} {
		got := declined
		c.change(&got)
		if err := o.check(&c.previous, &got, false); (err == nil) != c.isValid {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

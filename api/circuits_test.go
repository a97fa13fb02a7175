package api_test

import (
	"testing"

	paymentactor "mizan/actors/payment"
	"mizan/api"
	"mizan/ledger"
)

// circuitsOf is an admin.Circuits with fixed states.
type circuitsOf []paymentactor.CircuitState

// CircuitStates implements admin.Circuits.
func (c *circuitsOf) CircuitStates() []paymentactor.CircuitState { return *c }

func TestCircuitsAreThoseOfTheOrganizationOpenOnesFirst(t *testing.T) {
	t.Parallel()
	states := new(circuitsOf)
	f := newFixture(t, func(cfg *api.Config) { cfg.Circuits = states })
	first, second := f.directory.Terminals(f.seed.First.Org, 1), f.directory.Terminals(f.seed.Second.Org, 2)
	*states = circuitsOf{{Terminal: first[0].ID, State: "closed", Failures: 3}, {Terminal: second[0].ID, State: "open", Failures: 20}, {Terminal: first[1].ID, State: "half_open", Failures: 20}, {Terminal: first[2].ID, State: "open", Failures: 21}, {Terminal: ledger.ID{9}, State: "open", Failures: 1}}
	answer := f.admin().get("/api/v1/circuits").want(200, "")
	for i, want := range []string{"open", "half_open", "closed"} {
		if got := answer.at("data." + string(rune('0'+i)) + ".state"); got != want {
			t.Errorf("row %d is %s, want %s", i, got, want)
		}
	}
	if answer.rows() != 3 || answer.at("data.2.terminal_id") != first[0].ID.String() || answer.at("data.2.failures") != "3" {
		t.Errorf("rows: %s", answer.body)
	}
	f.admin().get("/api/v1/circuits?x=1").want(422, "")
}

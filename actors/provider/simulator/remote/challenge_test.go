package remote

import (
	"errors"
	"net/url"
	"testing"

	"mizan/actors"
	"mizan/actors/provider/simulator"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// tokenOf returns the token in the address of a challenge page.
func tokenOf(t *testing.T, o actors.Outcome) string {
	t.Helper()
	if o.Action == nil {
		t.Fatalf("%v has no action", o.Verdict)
	}
	address, err := url.Parse(o.Action.URL)
	if err != nil {
		t.Fatal(err)
	}
	return address.Query().Get(simulator.TokenParam)
}

// A payer decides on the page of one server, and another server completes the charge.
func TestAPayerDecidesThroughTheAdapter(t *testing.T) {
	served := serve(t)
	first, second := served.provider(), served.provider()
	for n, approve := range map[uint64]bool{1: true, 2: false} {
		o := submit(first, cardCall(n, "4000000000003220"))
		wantVerdict(t, "the charge", o, payment.VerdictAction)
		token := tokenOf(t, o)
		challenge, err := second.Challenge(id(7), id(n), token)
		want := simulator.Challenge{Amount: "1000", Asset: money.Asset{Currency: "USD", Env: money.Test}, State: simulator.ChallengeOpen, ReturnURL: returnURL}
		if err != nil || challenge != want {
			t.Errorf("the challenge is %+v, %v, want %+v", challenge, err, want)
		}
		if _, err := second.Challenge(id(7), id(n), "guessed"); !errors.Is(err, simulator.ErrNoChallenge) {
			t.Errorf("a guessed token: %v, want %v", err, simulator.ErrNoChallenge)
		}
		if _, _, err := second.Decide(id(7), id(n), "guessed", approve); !errors.Is(err, simulator.ErrNoChallenge) {
			t.Errorf("a guessed token decides: %v, want %v", err, simulator.ErrNoChallenge)
		}
		address, org, err := second.Decide(id(7), id(n), token, approve)
		if err != nil || address != returnURL || org != id(99) {
			t.Errorf("the decision: %q, %v, %v", address, org, err)
		}
		if challenge, err = first.Challenge(id(7), id(n), token); err != nil || challenge.State != simulator.ChallengeAnswered {
			t.Errorf("after the decision: %+v, %v", challenge, err)
		}
		wantVerdict(t, "after the decision", first.Inquire(t.Context(), inquiry(n)), payment.VerdictReady)
		complete := cardCall(n, "4000000000003220")
		complete.Operation, complete.Request, complete.ReturnURL = actors.Complete, id(50), nil
		wantVerdict(t, "the completion", submit(first, complete), map[bool]payment.Verdict{true: payment.VerdictCharged, false: payment.VerdictRefused}[approve])
	}
}

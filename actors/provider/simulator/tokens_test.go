package simulator

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger/payment"
)

// tokenOfCard returns the token in the final outcome of a card's charge.
func (sim *testSimulator) tokenOfCard(n uint64, number string) secret.Text {
	sim.t.Helper()
	if o := sim.Simulator.Submit(context.Background(), cardCall(n, actors.Pay, number)); o.Token != "" {
		return o.Token
	}
	sim.advance(lostResponseDelay)
	o := sim.Simulator.Inquire(context.Background(), &actors.Inquiry{Terminal: terminal(""), Reference: id(n), Operation: actors.Pay})
	if o.Verdict != payment.VerdictCharged || o.Token == "" {
		sim.t.Fatalf("card %s: %v with token %q", number, o.Verdict, string(o.Token))
	}
	return o.Token
}

// tokenCall returns a charge with a token.
func tokenCall(n uint64, token secret.Text) *actors.Call {
	c := methodCall(n, actors.Pay, "provider_token")
	c.Token = token
	return c
}

// The simulator charges a token as it charged the card.
func TestTokenIsChargedLikeItsCard(t *testing.T) {
	for number, want := range map[string]actors.Outcome{
		"4242424242424242": {Verdict: payment.VerdictCharged},
		"4000000000000077": {Verdict: payment.VerdictPending, InquireAfter: slowDelay},
		"4000000000000341": {Verdict: payment.VerdictUnknown, InquireAfter: lostResponseDelay},
		"4000000000000259": {Verdict: payment.VerdictCharged},
		"4000000000005126": {Verdict: payment.VerdictCharged},
		"4000000000007726": {Verdict: payment.VerdictCharged},
	} {
		sim := open(t)
		token := sim.tokenOfCard(1, number)
		if got := sim.submit(tokenCall(2, token)); got.Verdict != want.Verdict || got.InquireAfter != want.InquireAfter {
			t.Errorf("the token of %s: %v again after %v, want %v after %v", number, got.Verdict, got.InquireAfter, want.Verdict, want.InquireAfter)
		}
		byCard, byToken := listedCards[actors.Pay][number], tokenDecision(token)
		if byCard.verdict == 0 {
			byCard = chargedDecision
		}
		if byToken != byCard {
			t.Errorf("the token of %s is charged as %+v, the card as %+v", number, byToken, byCard)
		}
	}
}

// A payer who has acted once has agreed to later charges, so none of them needs another action.
func TestTokenNeedsNoPayerAction(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, "4000002500003155"))
	c := cardCall(1, actors.Complete, "4000002500003155")
	c.Request, c.Material = id(9), []byte(`{"otp":"123456"}`)
	o := sim.Simulator.Submit(context.Background(), c)
	if o.Verdict != payment.VerdictCharged || o.Token == "" {
		t.Fatalf("completed: %v with token %q", o.Verdict, string(o.Token))
	}
	if got := sim.submit(tokenCall(2, o.Token)); got.Verdict != payment.VerdictCharged {
		t.Errorf("its token: %v", got.Verdict)
	}
}

// A hold has a token after its capture, not before.
func TestACaptureLeavesAToken(t *testing.T) {
	sim := open(t)
	hold := cardCall(1, actors.Pay, "4242424242424242")
	hold.Hold = true
	if o := sim.Simulator.Submit(context.Background(), hold); o.Verdict != payment.VerdictHeld || o.Token != "" {
		t.Fatalf("held: %v with token %q", o.Verdict, string(o.Token))
	}
	capture := cardCall(1, actors.Capture, "")
	capture.Request, capture.Card = id(9), nil
	if o := sim.Simulator.Submit(context.Background(), capture); o.Verdict != payment.VerdictCharged || o.Token == "" {
		t.Errorf("captured: %v with token %q", o.Verdict, string(o.Token))
	}
}

// A charge always has the same token, and no line of the log contains it.
func TestATokenOutlivesARestartAndIsNotLogged(t *testing.T) {
	sim := open(t)
	token := sim.tokenOfCard(1, "4242424242424242")
	sim.reopen()
	o := sim.Simulator.Inquire(context.Background(), &actors.Inquiry{Terminal: terminal(""), Reference: id(1), Operation: actors.Pay})
	if o.Token != token {
		t.Errorf("the token is %q after a restart, was %q", string(o.Token), string(token))
	}
	if bytes.Contains(sim.content(), []byte(tokenPrefix)) {
		t.Error("the token is in the log")
	}
	if len(token) > actors.MaxToken {
		t.Errorf("a token of %d bytes", len(token))
	}
}

func TestInvalidTokenIsRefused(t *testing.T) {
	sim := open(t)
	for n, token := range []secret.Text{"x", "sim_", "sim_plain", "sim_none_00", secret.Text(strings.Repeat("s", actors.MaxToken))} {
		if got := sim.submit(tokenCall(uint64(n+1), token)); got.Verdict != payment.VerdictRefused || got.Failure != failureOf[reasonToken] {
			t.Errorf("token %q: %v %s", string(token), got.Verdict, got.Failure)
		}
	}
}

// The terminal's setting "fail" decides every charge, including a charge with a token.
func TestForcedFailureAppliesToTokens(t *testing.T) {
	sim := open(t)
	c := tokenCall(2, sim.tokenOfCard(1, "4242424242424242"))
	c.Terminal = terminal("rejected")
	if got := sim.submit(c); got.Verdict != payment.VerdictRefused || got.Failure != failureOf[reasonForced] {
		t.Errorf("%v %s", got.Verdict, got.Failure)
	}
}

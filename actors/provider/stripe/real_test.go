package stripe_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	"mizan/actors/provider/stripe"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// keyVariable names the environment variable with a secret key of Stripe's test mode. With it, the tests in this file send requests
// to Stripe itself: payments with test PaymentMethods, which move no real money. docs/stripe.md says how to run them.
const keyVariable = "MIZAN_STRIPE_TEST_KEY"

// realAccount is an account in Stripe's test mode.
type realAccount struct {
	*stripe.Provider
	t        *testing.T
	terminal *directory.Terminal
}

func openReal(t *testing.T) *realAccount {
	t.Helper()
	key := os.Getenv(keyVariable)
	if key == "" {
		t.Skip("skipped, because " + keyVariable + " has no key of Stripe's test mode")
	}
	if !strings.HasPrefix(key, "sk_test_") && !strings.HasPrefix(key, "rk_test_") {
		t.Fatal(keyVariable + " is no key of Stripe's test mode")
	}
	a := &realAccount{t: t, terminal: newTerminal(t, directory.PaymentTerminal, params{"secret_key": key})}
	a.Provider = stripe.New(stripe.Options{
		Clock: clock.Real{}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Timeout: time.Minute,
		Terminals: func() []*directory.Terminal { return []*directory.Terminal{a.terminal} },
	})
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// submit makes a call as the payment service does: a charge that is prepared is submitted once more.
func (a *realAccount) submit(call *actors.Call) actors.Outcome {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	o := a.Submit(ctx, call)
	if o.Verdict == payment.VerdictPrepared {
		call.Meta = o.Meta
		o = a.Submit(ctx, call)
	}
	return o
}

func (a *realAccount) inquire(call *actors.Call) actors.Outcome {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	return a.Inquire(ctx, &actors.Inquiry{
		Terminal: call.Terminal, Reference: call.Reference, Operation: call.Operation, Request: call.Request, Amount: call.Amount, ChargeState: call.ChargeState,
	})
}

// charge returns a call that charges a test PaymentMethod, as if Stripe's form had made it.
func (a *realAccount) charge(method string, isHold bool) *actors.Call {
	amount := money.FromUint64(1000)
	return &actors.Call{
		Org: org, Reference: newID(), Operation: actors.Pay, Terminal: a.terminal, Amount: amount, Asset: usd, Method: payment.BankCard, Hold: isHold,
		Token: secret.Text(method), ReturnURL: func() string { return "https://shop.example/return" },
		ChargeState: actors.ChargeState{SubmittedSince: time.Now(), ChargedAmount: amount},
	}
}

// follow returns a call about the charge.
func follow(call *actors.Call, operation actors.Operation, amount uint64) *actors.Call {
	next := *call
	next.Operation, next.Request, next.Amount, next.Token, next.RequestedAt = operation, newID(), money.FromUint64(amount), "", time.Now()
	return &next
}

func (a *realAccount) want(o actors.Outcome, verdict payment.Verdict, code payment.Code) {
	a.t.Helper()
	if o.Verdict != verdict || o.Failure.Code != code {
		a.t.Errorf("the outcome is %v %q, want %v %q", o.Verdict, o.Failure.Code, verdict, code)
	}
}

func TestRealChargeRefundAndRenewal(t *testing.T) {
	a := openReal(t)
	call := a.charge("pm_card_visa", false)
	o := a.submit(call)
	a.want(o, payment.VerdictCharged, "")
	a.want(a.inquire(call), payment.VerdictCharged, "")
	part := follow(call, actors.Refund, 400)
	a.want(a.submit(part), payment.VerdictCharged, "")
	a.want(a.inquire(part), payment.VerdictCharged, "")
	part.Repetition = 2
	a.want(a.submit(part), payment.VerdictCharged, "") // it is found in the list, and not made again
	a.want(a.submit(follow(call, actors.Refund, 601)), payment.VerdictRefused, payment.RefundDeclined)
	a.want(a.submit(follow(call, actors.Refund, 600)), payment.VerdictCharged, "")
	renewal := a.charge(string(o.Token), false)
	a.want(a.submit(renewal), payment.VerdictCharged, "")
}

func TestRealHold(t *testing.T) {
	a := openReal(t)
	captured, released := a.charge("pm_card_visa", true), a.charge("pm_card_visa", true)
	a.want(a.submit(captured), payment.VerdictHeld, "")
	a.want(a.submit(follow(captured, actors.Capture, 600)), payment.VerdictCharged, "")
	a.want(a.submit(released), payment.VerdictHeld, "")
	a.want(a.submit(follow(released, actors.Void, 0)), payment.VerdictCharged, "")
	a.want(a.inquire(released), payment.VerdictFailed, payment.ProcessingError)
}

func TestRealDeclinesAndAuthentication(t *testing.T) {
	a := openReal(t)
	for method, code := range map[string]payment.Code{
		"pm_card_visa_chargeDeclined": payment.CardDeclined, "pm_card_visa_chargeDeclinedInsufficientFunds": payment.InsufficientFunds,
		"pm_card_chargeDeclinedExpiredCard": payment.ExpiredCard, "pm_card_chargeDeclinedProcessingError": payment.ProcessingError,
	} {
		a.want(a.submit(a.charge(method, false)), payment.VerdictRefused, code)
	}
	call := a.charge("pm_card_authenticationRequired", false)
	o := a.submit(call)
	a.want(o, payment.VerdictAction, "")
	if o.Action == nil || !strings.HasPrefix(o.Action.URL, "https://") {
		t.Errorf("action %+v", o.Action)
	}
	a.want(a.submit(follow(call, actors.Void, 0)), payment.VerdictCharged, "")
}

func TestRealPollForEvents(t *testing.T) {
	a := openReal(t)
	now := time.Now()
	if _, err := a.Reports(t.Context(), now.Add(-time.Hour), now); err != nil {
		t.Error(err)
	}
}

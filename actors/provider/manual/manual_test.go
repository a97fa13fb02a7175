package manual_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/actors/provider/manual"
	"mizan/internal/clock"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

var start = time.Date(2026, 9, 3, 10, 15, 30, 0, time.UTC)

// terminal is a terminal whose payouts count as charged after ninety seconds.
func terminal(t *testing.T) *directory.Terminal {
	t.Helper()
	made, _, err := directory.NewTerminal(draft(`{"settle_after_seconds":90}`), false)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func submit(t *testing.T, c clock.Clock, operation actors.Operation, at *directory.Terminal) actors.Outcome {
	t.Helper()
	return manual.New(c).Submit(t.Context(), &actors.Call{
		Reference: uuid.New(), Operation: operation, Terminal: at, Method: "bank_account", ChargeState: actors.ChargeState{Since: start},
	})
}

func inquire(t *testing.T, c clock.Clock, operation actors.Operation, at *directory.Terminal) actors.Outcome {
	t.Helper()
	return manual.New(c).Inquire(t.Context(), &actors.Question{
		Reference: uuid.New(), Operation: operation, Terminal: at, ChargeState: actors.ChargeState{Since: start},
	})
}

func want(t *testing.T, what string, got, want actors.Outcome) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// Each answer comes from a new provider, as after a restart.
func TestAPayoutIsPendingUntilItsTimeIsOver(t *testing.T) {
	at := terminal(t)
	for passed, outcome := range map[time.Duration]actors.Outcome{
		0:                                    {Verdict: payment.VerdictPending, Again: 90 * time.Second},
		time.Second:                          {Verdict: payment.VerdictPending, Again: 89 * time.Second},
		90*time.Second - time.Millisecond:    {Verdict: payment.VerdictPending, Again: time.Millisecond},
		90*time.Second - 13*time.Microsecond: {Verdict: payment.VerdictCharged}, // a booked time is ahead of the clock
		90 * time.Second:                     {Verdict: payment.VerdictCharged},
		24 * time.Hour:                       {Verdict: payment.VerdictCharged},
	} {
		now := clock.NewManual(start.Add(passed))
		want(t, passed.String()+", submitted", submit(t, now, actors.PayOut, at), outcome)
		want(t, passed.String()+", inquired", inquire(t, now, actors.PayOut, at), outcome)
		want(t, passed.String()+", completed", submit(t, now, actors.Complete, at), outcome)
	}
}

// A payment is refused, and so is what would take a payout back: the operator may have paid it.
func TestWhatIsNoPayoutIsRefusedWithItsReason(t *testing.T) {
	at, now := terminal(t), clock.NewManual(start)
	for operation, reason := range map[actors.Operation]string{
		actors.Pay:     "The provider pays out by hand and takes no payments.",
		actors.Capture: "The payout may have been paid by hand already.",
		actors.Void:    "The payout may have been paid by hand already.",
		actors.Refund:  "The payout may have been paid by hand already.",
	} {
		refused := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.ProcessingError, Detail: reason}}
		want(t, operation.String()+", submitted", submit(t, now, operation, at), refused)
		want(t, operation.String()+", inquired", inquire(t, now, operation, at), refused)
	}
}

// Parameters whose seal does not open are not read as a time that is over.
func TestATerminalWithoutItsTimeChargesNothing(t *testing.T) {
	now := clock.NewManual(start.Add(time.Hour))
	for _, params := range []string{`{}`, `{"settle_after_seconds":"60"}`, `{"settle_after_seconds":-5}`} {
		at := &directory.Terminal{Provider: manual.Name, ProviderParams: []byte(params)}
		if err := at.Reparse(); err != nil {
			t.Fatal(err)
		}
		want(t, params+", submitted", submit(t, now, actors.PayOut, at), actors.Outcome{
			Verdict: payment.VerdictNotSent, Failure: payment.Failure{Code: payment.ProcessingError, Detail: "The terminal's parameters can't be read."},
		})
		want(t, params+", inquired", inquire(t, now, actors.PayOut, at), actors.Outcome{Verdict: payment.VerdictUnknown})
	}
	want(t, "another provider's", inquire(t, now, actors.PayOut, &directory.Terminal{}), actors.Outcome{Verdict: payment.VerdictUnknown})
}

func TestEveryKnownMethodIsAccepted(t *testing.T) {
	p := manual.New(clock.NewManual(start))
	for method, accepted := range map[string]bool{"bank_account": true, "sepa": true, "bank_card": true, "ach": false, "": false} {
		for _, operation := range []actors.Operation{actors.Pay, actors.PayOut} {
			if p.Accepts(operation, method) != accepted {
				t.Errorf("%s by %q: accepted is %v", operation, method, !accepted)
			}
		}
	}
	if reports, err := p.Reports(t.Context(), start, start.Add(time.Hour)); p.Name() != "manual" || len(reports) != 0 || err != nil {
		t.Errorf("%s reports %v, %v", p.Name(), reports, err)
	}
}

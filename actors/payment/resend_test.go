package payment_test

import (
	"context"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// If an operation's intent is durable but its call never reached the provider, for example because the
// process was killed in between, the call is sent once more under the same id.
func TestOperationThatNeverArrivedIsSentOnceMore(t *testing.T) {
	for name, c := range map[string]struct {
		card      string
		twoPhase  bool
		operation actors.Operation
		request   func(f *fixture, id ledger.ID) (paymentactor.Result, error)
		status    payment.Status
	}{
		"commit": {"4242424242424242", true, actors.Capture, func(f *fixture, id ledger.ID) (paymentactor.Result, error) { return f.Commit(amountCommand(id, 0)) }, payment.Charged},
		"refund": {"4242424242424242", false, actors.Refund, func(f *fixture, id ledger.ID) (paymentactor.Result, error) { return f.Refund(amountCommand(id, 0)) }, payment.Refunded},
		"cancel of a hold": {"4242424242424242", true, actors.Void, func(f *fixture, id ledger.ID) (paymentactor.Result, error) {
			return f.Cancel(paymentactor.Command{Author: ledger.ByPayer.Author(), Org: org, Partner: 1, ID: id})
		}, payment.Failed},
		"cancel of a payment that waits for its payer": {"4000000000003220", false, actors.Void, func(f *fixture, id ledger.ID) (paymentactor.Result, error) {
			return f.Cancel(paymentactor.Command{Author: ledger.ByPayer.Author(), Org: org, Partner: 1, ID: id})
		}, payment.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			rail := new(fakeProvider)
			calls := 0
			var requestIDs []ledger.ID
			rail.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
				if call.Operation == c.operation {
					requestIDs = append(requestIDs, call.Request)
					if calls++; calls == 1 {
						return actors.Outcome{Verdict: payment.VerdictUnknown} // the call was never sent
					}
				}
				return rail.Provider.Submit(ctx, call)
			}
			f := openWith(t, func(f *fixture) {
				f.useProvider(rail)
				if c.twoPhase {
					f.changeTerminal(0, twoPhase)
				}
			})
			id := f.create(payment.Payment, c.card, 70, "").Record.ID
			if _, err := c.request(f, id); err != nil {
				t.Fatal(err)
			}
			f.restart()
			f.advance(5 * time.Minute)
			f.wantStatus(id, c.status, map[bool]string{true: "cancelled"}[c.status == payment.Failed])
			if len(requestIDs) != 2 || requestIDs[0] != requestIDs[1] {
				t.Errorf("it was sent as %v", requestIDs)
			}
		})
	}
}

func TestChoiceOfABankSurvivesAKill(t *testing.T) {
	rail := new(fakeProvider)
	isLost := false
	rail.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		if call.Operation == actors.Complete && !isLost {
			isLost = true
			return actors.Outcome{} // as if the process had ended here: the outcome is unknown
		}
		return rail.Provider.Submit(ctx, call)
	}
	f := openWith(t, func(f *fixture) { f.useProvider(rail) })
	result, err := f.createWith(payment.Payout, "", 70, func(c *paymentactor.Create) { c.Request.Method, c.Card = "sepa", nil })
	if err != nil {
		t.Fatal(err)
	}
	bank := result.Record.Action.Destinations[0].ID
	if _, err := f.Choose(paymentactor.Choice{Command: paymentactor.Command{Author: ledger.ByPayer.Author(), Org: org, Partner: 1, ID: result.Record.ID}, Bank: bank}); err != nil {
		t.Fatal(err)
	}
	f.restart()
	f.advance(5 * time.Minute)
	f.wantStatus(result.Record.ID, payment.Charged, "")
}

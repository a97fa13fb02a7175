package providersuite_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/providersuite"
	"mizan/internal/providersuite/simulated"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// liar is an adapter with a fault. Each process of the core has a new one.
type liar struct {
	actors.Provider
	submit  func(ctx context.Context, inner actors.Provider, call *actors.Call) actors.Outcome
	inquire func(ctx context.Context, inner actors.Provider, q *actors.Inquiry) actors.Outcome
}

// Submit implements actors.Provider.
func (l *liar) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	if l.submit == nil {
		return l.Provider.Submit(ctx, call)
	}
	return l.submit(ctx, l.Provider, call)
}

// Inquire implements actors.Provider.
func (l *liar) Inquire(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	if l.inquire == nil {
		return l.Provider.Inquire(ctx, q)
	}
	return l.inquire(ctx, l.Provider, q)
}

// NextReport returns when the adapter wants to be polled.
func (l *liar) NextReport(since time.Time) (time.Time, bool) {
	return l.Provider.(interface {
		NextReport(since time.Time) (time.Time, bool)
	}).NextReport(since)
}

// unknownAsRefused takes a lost answer for a refusal.
func unknownAsRefused(p actors.Provider) actors.Provider {
	return &liar{Provider: p, submit: func(ctx context.Context, inner actors.Provider, call *actors.Call) actors.Outcome {
		o := inner.Submit(ctx, call)
		if o.Verdict == payment.VerdictUnknown {
			return actors.Outcome{Verdict: payment.VerdictRefused}
		}
		return o
	}}
}

// resendsUnderANewReference repeats a call whose answer was lost, as a new call.
func resendsUnderANewReference(p actors.Provider) actors.Provider {
	return &liar{Provider: p, submit: func(ctx context.Context, inner actors.Provider, call *actors.Call) actors.Outcome {
		again := *call
		if call.Card != nil {
			again.Card = &secret.Card{Number: append([]byte(nil), call.Card.Number...)}
		}
		o := inner.Submit(ctx, call)
		if o.Verdict != payment.VerdictUnknown {
			return o
		}
		if again.Request != (ledger.ID{}) {
			again.Request = uuid.New()
		} else {
			again.Reference = uuid.New()
		}
		return inner.Submit(ctx, &again)
	}}
}

// heldAsCharged takes authorised money for charged money.
func heldAsCharged(p actors.Provider) actors.Provider {
	return &liar{Provider: p, submit: func(ctx context.Context, inner actors.Provider, call *actors.Call) actors.Outcome {
		o := inner.Submit(ctx, call)
		if o.Verdict == payment.VerdictHeld {
			o.Verdict = payment.VerdictCharged
		}
		return o
	}}
}

// movesEverything ignores the amounts of operations of a kind.
func movesEverything(operation actors.Operation) func(actors.Provider) actors.Provider {
	return func(p actors.Provider) actors.Provider {
		return &liar{Provider: p, submit: func(ctx context.Context, inner actors.Provider, call *actors.Call) actors.Outcome {
			changed := *call
			if call.Operation == operation {
				changed.Amount = call.ChargedAmount
			}
			return inner.Submit(ctx, &changed)
		}}
	}
}

// doublesRefundsAfterARestart knows only in its memory which refunds it has sent, and sends the others again under new ids
// when it is asked about them.
func doublesRefundsAfterARestart(p actors.Provider) actors.Provider {
	var mu sync.Mutex
	sent := make(map[ledger.ID]bool)
	return &liar{
		Provider: p,
		submit: func(ctx context.Context, inner actors.Provider, call *actors.Call) actors.Outcome {
			mu.Lock()
			sent[call.Request] = true
			mu.Unlock()
			return inner.Submit(ctx, call)
		},
		inquire: func(ctx context.Context, inner actors.Provider, q *actors.Inquiry) actors.Outcome {
			mu.Lock()
			isKnown := sent[q.Request]
			mu.Unlock()
			if q.Operation == actors.Refund && !isKnown {
				return inner.Submit(ctx, &actors.Call{Org: q.Terminal.Org, Reference: q.Reference, Operation: actors.Refund, Request: uuid.New(), Terminal: q.Terminal, Amount: q.Amount, ChargeState: q.ChargeState})
			}
			return inner.Inquire(ctx, q)
		},
	}
}

// notFoundWhileUnknown says that a call never arrived, although the rail has not answered.
func notFoundWhileUnknown(p actors.Provider) actors.Provider {
	return &liar{Provider: p, inquire: func(ctx context.Context, inner actors.Provider, q *actors.Inquiry) actors.Outcome {
		o := inner.Inquire(ctx, q)
		if o.Verdict == payment.VerdictUnknown {
			o.Verdict = payment.VerdictNotFound
		}
		return o
	}}
}

// reportsNothing never reports what the rail has done by itself.
func reportsNothing(p actors.Provider) actors.Provider { return &silent{&liar{Provider: p}} }

type silent struct{ *liar }

func (*silent) Reports(context.Context, time.Time, time.Time) ([]actors.Report, error) {
	return nil, nil
}

// chargesTwice sends every charge twice, the second time under another reference.
func chargesTwice(p actors.Provider) actors.Provider {
	return &liar{Provider: p, submit: func(ctx context.Context, inner actors.Provider, call *actors.Call) actors.Outcome {
		if call.Operation == actors.Pay {
			again := *call
			again.Reference, again.Amount = uuid.New(), money.FromUint64(1)
			inner.Submit(ctx, &again)
		}
		return inner.Submit(ctx, call)
	}}
}

// The suite must find adapters that lie. Otherwise an adapter that passes proves nothing.
func TestSuiteFindsAdaptersThatLie(t *testing.T) {
	for name, c := range map[string]struct {
		tests string // the tests that should find it
		lie   func(actors.Provider) actors.Provider
	}{
		"an unknown outcome as a refusal":      {"charge", unknownAsRefused},
		"a lost call again, as a new one":      {"charge", resendsUnderANewReference},
		"held money as charged":                {"capture", heldAsCharged},
		"refunds of the whole amount":          {"refund", movesEverything(actors.Refund)},
		"refunds again after a restart":        {"second refund of a part, killed", doublesRefundsAfterARestart},
		"silence as a call that never arrived": {"payout", notFoundWhileUnknown},
		"reports that are never made":          {"charge is taken back, and a poll finds it", reportsNothing},
		"captures of the whole amount":         {"capture", movesEverything(actors.Capture)},
		"a second charge under another id":     {"charge", chargesTwice},
	} {
		t.Run(name, func(t *testing.T) {
			found := providersuite.Findings(t, simulated.Local(), c.tests, c.lie)
			if len(found) == 0 {
				t.Fatal("the suite has found nothing")
			}
			first, _, _ := strings.Cut(found[0], "\n")
			t.Logf("found: %s", first)
		})
	}
}

// The same tests find nothing if the adapter only passes the calls on.
func TestSuiteFindsNothingInAnHonestAdapter(t *testing.T) {
	for _, names := range []string{"charge", "capture", "refund"} {
		if found := providersuite.Findings(t, simulated.Local(), names, func(p actors.Provider) actors.Provider { return &liar{Provider: p} }); len(found) > 0 {
			t.Errorf("found %s", found[0])
		}
	}
}

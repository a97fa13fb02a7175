package payment_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// A failing poll does not stop the clock and is repeated only after a pause.
func TestFailingPollDoesNotBlockTheClock(t *testing.T) {
	var polls atomic.Int64
	var broken atomic.Bool
	broken.Store(true)
	rail := &fakeProvider{
		next: func(since time.Time) (time.Time, bool) {
			return start.Add(time.Second), since.Before(start.Add(time.Second))
		},
		reversals: func(time.Time, time.Time) ([]actors.Report, error) {
			polls.Add(1)
			if broken.Load() {
				return nil, errors.New("the rail is down")
			}
			return []actors.Report{{Org: org, Kind: actors.Reversal, Reference: ledger.ID{9}}}, nil
		},
	}
	f := openWith(t, func(f *fixture) { f.useProvider(rail) })
	started := time.Now()
	mustReturnSoon(t, "the clock is moved", func() {
		if err := f.Runtime.Advance(start.Add(time.Hour)); err == nil {
			t.Error("the clock was moved although a poll failed, without an error")
		}
	})
	if got := f.Clock.Now(); !got.Equal(start.Add(time.Hour)) {
		t.Errorf("the clock shows %v", got)
	}
	maxPolls := 1 + int64(time.Since(started)/time.Second) // polls are at least a second apart, in real time
	if n := polls.Load(); n < 1 || n > maxPolls {
		t.Errorf("polled %d times while the rail is down, want 1 to %d", n, maxPolls)
	}
}

// A slow poll does not delay due work.
func TestHangingPollDoesNotDelayDueWork(t *testing.T) {
	release := make(chan struct{})
	began := make(chan struct{})
	rail := &fakeProvider{
		next: func(since time.Time) (time.Time, bool) { return time.Unix(0, 0), since.IsZero() },
		reversals: func(time.Time, time.Time) ([]actors.Report, error) {
			close(began)
			<-release
			return nil, nil
		},
		submit: func(context.Context, *actors.Call) actors.Outcome {
			return actors.Outcome{Verdict: payment.VerdictUnknown, InquireAfter: time.Millisecond}
		},
		inquire: func(context.Context, *actors.Inquiry) actors.Outcome {
			return actors.Outcome{Verdict: payment.VerdictCharged}
		},
	}
	f := openWith(t, func(f *fixture) { f.realClock = true; f.useProvider(rail) })
	defer close(release)
	<-began
	result, err := f.tryCreate(payment.Payment, "")
	if err != nil {
		t.Fatal(err)
	}
	f.waitForStatus(result.Record.ID, payment.Charged)
}

// If a chargeback is reported before the result of the payment's charge, it is handled after this result,
// even if the actor panics in between.
func TestReversalReportedBeforeTheChargeIsHandledAfterIt(t *testing.T) {
	for _, actorPanics := range []bool{false, true} {
		var isReported atomic.Bool
		rail := &fakeProvider{
			submit: func(context.Context, *actors.Call) actors.Outcome {
				return actors.Outcome{Verdict: payment.VerdictUnknown}
			},
			inquire: func(context.Context, *actors.Inquiry) actors.Outcome {
				return actors.Outcome{Verdict: payment.VerdictCharged}
			},
		}
		var id ledger.ID
		rail.next = func(since time.Time) (time.Time, bool) { return start, isReported.Load() && since.IsZero() }
		rail.reversals = func(time.Time, time.Time) ([]actors.Report, error) {
			return []actors.Report{{Org: org, Terminal: uuid.UUID{0xaa, 0}, Kind: actors.Reversal, Reference: id, Failure: payment.Failure{Detail: "chargeback"}}}, nil
		}
		f := openWith(t, func(f *fixture) { f.useProvider(rail) })
		id = f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
		isReported.Store(true)
		f.advance(time.Second)
		if got := f.readRecord(id).Status; got != payment.Charging {
			t.Fatalf("%s", got)
		}
		if actorPanics {
			f.Send(actors.RecordKey{Org: org, ID: id}, "what is this")
			f.Runtime.Quiesce()
		}
		f.advance(10 * time.Second)
		if got := f.readRecord(id).Status; got != payment.Reversed || f.balance() != "100000 / 0" {
			t.Errorf("panics %v: %s, balance %s", actorPanics, got, f.balance())
		}
	}
}

// If a payment's reversal is reported several times, there is still one return. A report about a payment
// that was declined, or that does not exist, is ignored.
func TestRepeatedReversalReportsReturnAPaymentOnce(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4000000000000259", 70, "").Record.ID
	declined := f.create(payment.Payment, "4000000000000002", 70, "").Record.ID
	f.advance(time.Minute)
	returnID := f.readRecord(id).ReturnID
	for range 3 {
		f.restart() // after a restart all reports are requested again
		f.advance(time.Second)
		f.reportReversal(id)
		f.reportReversal(declined)
		f.reportReversal(uuid.UUID{7})
	}
	if r := f.readRecord(id); r.Status != payment.Reversed || r.ReturnID != returnID || f.balance() != "100000 / 0" {
		t.Errorf("%s, return %v instead of %v, balance %s", r.Status, r.ReturnID, returnID, f.balance())
	}
	if got := f.readRecord(declined).Status; got != payment.Rejected {
		t.Errorf("%s", got)
	}
	if f.Runtime.ActorsWithWork() != 0 {
		t.Errorf("%d actors stay", f.Runtime.ActorsWithWork())
	}
}

func (f *fixture) reportReversal(id ledger.ID) {
	f.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.Reported(actors.Report{Terminal: f.terminals[0].ID, Kind: actors.Reversal, Failure: payment.Failure{Detail: "chargeback"}}))
	f.Runtime.Quiesce()
}

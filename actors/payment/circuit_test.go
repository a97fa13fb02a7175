package payment_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/payment/codec"
	"mizan/posting"
)

// openTwoTerminals returns a fixture with two payment terminals. While isDown is true, the provider
// of the first terminal is unreachable.
func openTwoTerminals(t *testing.T, openTime time.Duration) (f *fixture, ids [2]ledger.ID, isDown *atomic.Bool) {
	isDown = new(atomic.Bool)
	provider := new(fakeProvider)
	provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		if call.Terminal.ID == ids[0] && isDown.Load() {
			return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: payment.Failure{Detail: "no route to host"}, Unreachable: true}
		}
		return provider.Provider.Submit(ctx, call)
	}
	f = openWith(t, func(f *fixture) {
		f.useProvider(provider)
		f.breaker = paymentactor.Breaker{Failures: 3, OpenTime: openTime}
		f.changeTerminal(0, withOutcome("", 1))
		ids = [2]ledger.ID{f.terminals[0].ID, f.addTerminal(0, withOutcome("", 2))}
	})
	return f, ids, isDown
}

func TestTerminalIsSkippedWhileItsProviderIsDown(t *testing.T) {
	f, ids, isDown := openTwoTerminals(t, 24*time.Hour)
	isDown.Store(true)
	for range 3 {
		r := f.wantCreated(good, 1, payment.Charged, "")
		if r.Terminal != ids[1] || len(r.Attempts) != 1 || r.Attempts[0].Outcome != payment.AttemptNotSent {
			t.Fatalf("by %v after %+v", r.Terminal, r.Attempts)
		}
	}
	if figures := f.Circuits(); figures.Open["simulator"] != 1 || figures.HalfOpen["simulator"] != 0 || len(figures.Open) != 1 {
		t.Errorf("the circuits are %+v", figures)
	}
	isDown.Store(false) // the terminal is not called, so its recovery is not noticed
	r := f.wantCreated(good, 1, payment.Charged, "")
	want := payment.Attempt{Terminal: ids[0], Outcome: payment.AttemptSkipped, Failure: payment.Failure{Detail: "the terminal's circuit is open"}, Priority: 1,
		At: ledger.MicrosOf(f.Clock.Now())}
	if r.Terminal != ids[1] || len(r.Attempts) != 1 || r.Attempts[0] != want {
		t.Errorf("by %v after %+v, want %+v", r.Terminal, r.Attempts, want)
	}
	f.changeTerminal(1, func(terminalSettings) {})
	f.terminals[2] = inactiveCopy(f.terminals[2])
	r = f.wantCreated(good, 1, payment.Rejected, "no terminal available")
	if len(r.Attempts) != 2 || r.Attempts[0] != want || r.Attempts[1].Outcome != payment.AttemptExcluded || failureText(r.Attempts[1].Failure) != "it is switched off" {
		t.Errorf("looked at %+v", r.Attempts)
	}
}

// inactiveCopy returns a copy of the terminal that is switched off.
func inactiveCopy(t *directory.Terminal) *directory.Terminal {
	terminalCopy := *t
	terminalCopy.Active = false
	return &terminalCopy
}

func TestCircuitClosesWhenTheProviderAnswersAgain(t *testing.T) {
	f, ids, isDown := openTwoTerminals(t, time.Nanosecond) // after this time one call is let through as a probe
	isDown.Store(true)
	for range 10 {
		if r := f.wantCreated(good, 1, payment.Charged, ""); r.Terminal != ids[1] {
			t.Fatalf("by %v", r.Terminal)
		}
	}
	if figures := f.Circuits(); figures.Open["simulator"] != 0 || figures.HalfOpen["simulator"] != 1 {
		t.Errorf("while the next charge is a probe, the circuits are %+v", figures)
	}
	isDown.Store(false)
	for range 10 {
		if r := f.wantCreated(good, 1, payment.Charged, ""); r.Terminal != ids[0] || r.Attempts != nil {
			t.Fatalf("by %v after %+v", r.Terminal, r.Attempts)
		}
	}
	if figures := f.Circuits(); figures.Open["simulator"] != 0 || figures.HalfOpen["simulator"] != 0 {
		t.Errorf("once the provider answers, the circuits are %+v", figures)
	}
}

// Another process, such as the next leader of a shard, knows which providers are down.
func TestOpenCircuitSurvivesARestart(t *testing.T) {
	f, ids, isDown := openTwoTerminals(t, 24*time.Hour)
	isDown.Store(true)
	for range 3 {
		f.wantCreated(good, 1, payment.Charged, "")
	}
	f.Runtime.Quiesce()
	isDown.Store(false) // the terminal is not called, so its recovery is not noticed
	for restarts := range 2 {
		f.restart()
		r := f.wantCreated(good, 1, payment.Charged, "")
		if r.Terminal != ids[1] || len(r.Attempts) != 1 || failureText(r.Attempts[0].Failure) != "the terminal's circuit is open" {
			t.Fatalf("after %d restarts: by %v after %+v", 1+restarts, r.Terminal, r.Attempts)
		}
		if figures := f.Circuits(); figures.Open["simulator"] != 1 {
			t.Errorf("after %d restarts, the circuits are %+v", 1+restarts, figures)
		}
		f.Runtime.Quiesce()
	}
}

func TestClosedCircuitIsNotRestored(t *testing.T) {
	f, ids, isDown := openTwoTerminals(t, time.Nanosecond)
	isDown.Store(true)
	for range 3 {
		f.wantCreated(good, 1, payment.Charged, "")
	}
	isDown.Store(false)
	f.wantCreated(good, 1, payment.Charged, "")
	f.Runtime.Quiesce()
	f.restartAs(func(f *fixture) { f.breaker.OpenTime = 24 * time.Hour }) // a row would not be too old
	if r := f.wantCreated(good, 1, payment.Charged, ""); r.Terminal != ids[0] || r.Attempts != nil {
		t.Errorf("by %v after %+v", r.Terminal, r.Attempts)
	}
}

// Whether a provider that was down long ago is still down, nobody knows.
func TestOldCircuitIsNotRestored(t *testing.T) {
	const openTime = time.Hour
	f, ids, _ := openTwoTerminals(t, openTime)
	for _, c := range []struct {
		age  time.Duration
		want ledger.ID
	}{{openTime + openTime/2, ids[1]}, {3 * openTime, ids[0]}} {
		row := codec.OpenCircuit{Terminal: ids[0], OpenedAt: ledger.MicrosOf(time.Now().Add(-c.age)), Provider: "simulator"}
		if err := f.Journal.SubmitAndWait(&posting.Change{KVs: []posting.KV{{Key: row.Key(), Value: row.Value()}}}).Err; err != nil {
			t.Fatal(err)
		}
		f.restart()
		if r := f.wantCreated(good, 1, payment.Charged, ""); r.Terminal != c.want {
			t.Errorf("%v after it has opened: by %v after %+v", c.age, r.Terminal, r.Attempts)
		}
		f.Runtime.Quiesce()
	}
}

func TestOneAnswerBetweenFailuresKeepsTheCircuitClosed(t *testing.T) {
	f, ids, isDown := openTwoTerminals(t, 24*time.Hour)
	for range 5 {
		isDown.Store(true)
		f.wantCreated(good, 1, payment.Charged, "")
		f.wantCreated(good, 1, payment.Charged, "")
		isDown.Store(false)
		if r := f.wantCreated(declined, 1, payment.Rejected, "card_declined"); r.Attempts[0].Terminal != ids[0] || r.Attempts[0].Outcome != payment.AttemptRefused {
			t.Fatalf("after %+v", r.Attempts)
		}
	}
}

// The payments at a terminal that never answers have unknown outcomes and stay at that terminal. Later
// payments go to another terminal.
func TestSilentTerminalIsSkippedAndItsPaymentsAreInquired(t *testing.T) {
	f := openWith(t, func(f *fixture) {
		f.breaker = paymentactor.Breaker{Failures: 3, OpenTime: 24 * time.Hour}
		f.changeTerminal(0, withOutcome(simulator.FailTimeout, 1))
		f.addTerminal(0, withOutcome("", 2))
	})
	var silentIDs []ledger.ID
	for range 3 {
		r := f.create(payment.Payment, good, 1, "").Record
		f.wantStatus(r.ID, payment.Charging, "")
		silentIDs = append(silentIDs, r.ID)
	}
	if r := f.wantCreated(good, 1, payment.Charged, ""); r.Terminal != f.terminals[2].ID {
		t.Errorf("by %v", r.Terminal)
	}
	f.advance(time.Minute)
	for _, id := range silentIDs {
		if r := f.wantStatus(id, payment.Charged, ""); r.Terminal != f.terminals[0].ID {
			t.Errorf("by %v", r.Terminal)
		}
	}
}

func TestRejectionListsWhyEachTerminalWasSkipped(t *testing.T) {
	f := openWith(t, func(f *fixture) {
		for _, change := range []func(terminalSettings){
			func(s terminalSettings) { s.Currencies = []money.Currency{"EUR"} },
			func(s terminalSettings) { s.Methods = []string{"sbp"} },
			func(s terminalSettings) { maximum := money.FromUint64(9); s.MaxAmount = &maximum },
			func(s terminalSettings) { minimum := money.FromUint64(11); s.MinAmount = &minimum },
		} {
			f.addTerminal(0, change)
		}
		f.terminals[0] = inactiveCopy(f.terminals[0])
	})
	r := f.wantCreated(good, 10, payment.Rejected, "no terminal available")
	want := []string{"it is switched off", "it does not take the currency", "it does not take the method",
		"the amount is above its max_amount", "the amount is below its min_amount"}
	if len(r.Attempts) != len(want) {
		t.Fatalf("looked at %+v", r.Attempts)
	}
	for i, a := range r.Attempts {
		if failureText(a.Failure) != want[i] || a.Outcome != payment.AttemptExcluded || a.At != ledger.MicrosOf(start) {
			t.Errorf("attempt %d: %+v, want %q", i, a, want[i])
		}
	}
}

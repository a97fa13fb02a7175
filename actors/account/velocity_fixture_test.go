package account

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
)

var (
	org   = uuid.UUID{1}
	usd   = money.Asset{Currency: "USD", Env: money.Prod}
	start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
)

// fixture is the service in a real runtime, on a real journal, with a history that the test makes
// up.
type fixture struct {
	*testkit.World
	*Service
	t *testing.T

	repeats func() (bool, error) // passed with every attempt

	history []storedAttempt // the last booked first
	reads   int             // of the history
	passed  int             // attempts that the history has passed, in all
	failed  error           // returned instead of the history
	panics  bool            // instead of the history
	gate    chan struct{}
}

// storedAttempt is an attempt in the store.
type storedAttempt struct {
	booked, at ledger.Micros
	directory.Attempt
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{World: testkit.NewWorld(t, start), t: t}
	f.start()
	return f
}

func (f *fixture) start() {
	f.Open()
	f.Service = New(f.Runtime)
	f.Recall(f.recall)
	f.Runtime.Start(func(posting.Item) bool { return false })
}

func (f *fixture) restart() {
	f.Close()
	f.start()
}

func (f *fixture) recall(_ ledger.ID, _ int64, env money.Env, since ledger.Micros, fn func(booked, at ledger.Micros, a *directory.Attempt) bool) error {
	f.reads++
	if f.gate != nil {
		<-f.gate
	}
	if f.panics {
		panic("a past that panics")
	}
	if f.failed != nil {
		return f.failed
	}
	for i := range f.history {
		l := &f.history[i]
		if l.at <= since || l.Asset.Env != env {
			continue
		}
		f.passed++
		if !fn(l.booked, l.at, &l.Attempt) {
			return nil
		}
	}
	return nil
}

// after returns the time d after the start.
func after(d time.Duration) ledger.Micros { return ledger.MicrosOf(start.Add(d)) }

// to moves the clock.
func (f *fixture) to(d time.Duration) {
	f.t.Helper()
	if err := f.Clock.Set(start.Add(d)); err != nil {
		f.t.Fatal(err)
	}
}

// velocity returns a limit for partner 1, of a number of attempts per minute.
func velocity(most int64, scope directory.Scope) *directory.Limit {
	return &directory.Limit{
		ID: uuid.New(), Org: org, Partner: 1, Kind: directory.Velocity, Asset: usd, MaxCount: most, Window: time.Minute, Scope: scope, Active: true,
	}
}

// attemptWith returns an attempt with a card.
func attemptWith(card string) *directory.Attempt {
	return &directory.Attempt{Type: directory.PaymentTerminal, Asset: usd, Payer: directory.Payer{Card: card}}
}

// tried is the answer to an attempt.
type tried struct {
	breached *directory.Limit
	err      error
}

// answers counts an attempt, and returns every answer to it.
func (f *fixture) answers(at ledger.Micros, a *directory.Attempt, limits ...*directory.Limit) []tried {
	all := make(chan tried, 8)
	f.Count(org, 1, limits, at, a, f.repeats, func(breached *directory.Limit, err error) { all <- tried{breached, err} })
	f.Runtime.Quiesce()
	close(all)
	var got []tried
	for one := range all {
		got = append(got, one)
	}
	return got
}

// tries counts an attempt that must be answered once and without an error.
func (f *fixture) tries(d time.Duration, a *directory.Attempt, limits ...*directory.Limit) *directory.Limit {
	f.t.Helper()
	got := f.answers(after(d), a, limits...)
	if len(got) != 1 || got[0].err != nil {
		f.t.Fatalf("answered %v", got)
	}
	return got[0].breached
}

// admits and refuses count an attempt at a time after the start and check the answer.
func (f *fixture) admits(d time.Duration, a *directory.Attempt, limits ...*directory.Limit) {
	f.t.Helper()
	if l := f.tries(d, a, limits...); l != nil {
		f.t.Errorf("after %v: refused by the limit to %d", d, l.MaxCount)
	}
}

func (f *fixture) refuses(d time.Duration, a *directory.Attempt, limits ...*directory.Limit) {
	f.t.Helper()
	if f.tries(d, a, limits...) == nil {
		f.t.Errorf("after %v: admitted", d)
	}
}

// counts checks a velocity limit's usage by the clock.
func (f *fixture) counts(l *directory.Limit, subject string, want int64, resets ledger.Micros) {
	f.t.Helper()
	u, err := f.Usage(context.Background(), l, subject)
	if err != nil {
		f.t.Fatal(err)
	}
	if u.Count != want || u.Resets != resets {
		f.t.Errorf("%d attempts until %v, want %d until %v", u.Count, u.Resets.Time(), want, resets.Time())
	}
}

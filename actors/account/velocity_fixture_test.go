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

// fixture is the service in a real runtime, on a real journal, with a history of the test's own.
type fixture struct {
	*testkit.World
	*Service
	t *testing.T

	isRepetition func() (bool, error) // passed to Count with every attempt

	history        []storedAttempt // the attempt that was booked last comes first
	reads          int             // how often the history was read
	attemptsPassed int             // number of attempts that the history has returned
	historyError   error           // if not nil, returned instead of the history
	historyPanics  bool            // if set, the history panics
	gate           chan struct{}   // if set, the history waits until the gate is closed
}

// storedAttempt is an attempt in the store.
type storedAttempt struct {
	bookedAt, attemptedAt ledger.Micros
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
	f.SetHistory(f.readHistory)
	f.Runtime.Start(func(posting.DueItem) bool { return false })
}

func (f *fixture) restart() {
	f.Close()
	f.start()
}

// readHistory is the service's History.
func (f *fixture) readHistory(_ ledger.ID, _ int64, env money.Env, since ledger.Micros,
	fn func(bookedAt, attemptedAt ledger.Micros, a *directory.Attempt) bool) error {
	f.reads++
	if f.gate != nil {
		<-f.gate
	}
	if f.historyPanics {
		panic("a past that panics")
	}
	if f.historyError != nil {
		return f.historyError
	}
	for i := range f.history {
		attempt := &f.history[i]
		if attempt.attemptedAt <= since || attempt.Asset.Env != env {
			continue
		}
		f.attemptsPassed++
		if !fn(attempt.bookedAt, attempt.attemptedAt, &attempt.Attempt) {
			return nil
		}
	}
	return nil
}

// startPlus returns the time that is d after start.
func startPlus(d time.Duration) ledger.Micros { return ledger.MicrosOf(start.Add(d)) }

// setClock moves the clock to the time that is d after start.
func (f *fixture) setClock(d time.Duration) {
	f.t.Helper()
	if err := f.Clock.Set(start.Add(d)); err != nil {
		f.t.Fatal(err)
	}
}

// velocityLimit returns a limit of partner 1 that allows a number of attempts per minute.
func velocityLimit(allowed int64, scope directory.Scope) *directory.Limit {
	return &directory.Limit{
		ID: uuid.New(), Org: org, Partner: 1, Kind: directory.Velocity, Asset: usd, MaxCount: allowed, Window: time.Minute, Scope: scope, Active: true,
	}
}

// attemptWith returns an attempt with a card.
func attemptWith(card string) *directory.Attempt {
	return &directory.Attempt{Type: directory.PaymentTerminal, Asset: usd, Payer: directory.Payer{Card: card}}
}

// countResult is an answer of Count.
type countResult struct {
	breached *directory.Limit
	err      error
}

// countAndCollect counts an attempt, and returns every call of its answer function.
func (f *fixture) countAndCollect(at ledger.Micros, a *directory.Attempt, limits ...*directory.Limit) []countResult {
	answers := make(chan countResult, 8)
	f.Count(org, 1, limits, at, a, f.isRepetition, func(breached *directory.Limit, err error) { answers <- countResult{breached, err} })
	f.Runtime.Quiesce()
	close(answers)
	var got []countResult
	for answer := range answers {
		got = append(got, answer)
	}
	return got
}

// count counts an attempt, which must be answered once, without an error. It returns the limit that the attempt
// exceeds, or nil.
func (f *fixture) count(d time.Duration, a *directory.Attempt, limits ...*directory.Limit) *directory.Limit {
	f.t.Helper()
	got := f.countAndCollect(startPlus(d), a, limits...)
	if len(got) != 1 || got[0].err != nil {
		f.t.Fatalf("answered %v", got)
	}
	return got[0].breached
}

// wantAdmitted and wantRefused count an attempt at the time that is d after start, and check the result.
func (f *fixture) wantAdmitted(d time.Duration, a *directory.Attempt, limits ...*directory.Limit) {
	f.t.Helper()
	if limit := f.count(d, a, limits...); limit != nil {
		f.t.Errorf("after %v: refused by the limit to %d", d, limit.MaxCount)
	}
}

func (f *fixture) wantRefused(d time.Duration, a *directory.Attempt, limits ...*directory.Limit) {
	f.t.Helper()
	if f.count(d, a, limits...) == nil {
		f.t.Errorf("after %v: admitted", d)
	}
}

// wantUsage checks a velocity limit's usage at the clock's time.
func (f *fixture) wantUsage(limit *directory.Limit, subject string, want int64, resets ledger.Micros) {
	f.t.Helper()
	u, err := f.Usage(context.Background(), limit, subject)
	if err != nil {
		f.t.Fatal(err)
	}
	if u.Count != want || u.ResetsAt != resets {
		f.t.Errorf("%d attempts until %v, want %d until %v", u.Count, u.ResetsAt.Time(), want, resets.Time())
	}
}

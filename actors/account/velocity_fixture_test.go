package account

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

var (
	org   = uuid.UUID{1}
	usd   = money.Asset{Currency: "USD", Env: money.Prod}
	start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
)

// counting is the service in a real runtime, on a real journal, with a history that the test makes
// up.
type counting struct {
	t     *testing.T
	clock *clock.Manual
	rt    *actors.Runtime
	dir   string
	*Service

	repeats func() (bool, error) // passed with every attempt

	past   []lived // the last booked first
	reads  int     // of the history
	told   int     // attempts that the history has passed, in all
	failed error   // returned instead of the history
	panics bool    // instead of the history
	gate   chan struct{}
}

// lived is an attempt in the store.
type lived struct {
	booked, at ledger.Micros
	directory.Attempt
}

func countingFixture(t *testing.T) *counting {
	s := &counting{t: t, clock: clock.NewManual(start), dir: t.TempDir()}
	s.open()
	t.Cleanup(s.close)
	return s
}

func (s *counting) open() {
	quiet := slog.New(slog.DiscardHandler)
	j, err := posting.Open(posting.Options{Store: store.Options{Dir: s.dir, Log: quiet}, Clock: s.clock, Log: quiet})
	if err != nil {
		s.t.Fatal(err)
	}
	s.rt = actors.New(actors.Options{Clock: s.clock, Journal: j, Log: quiet})
	s.Service = New(s.rt)
	s.Recall(s.recall)
	s.rt.Start(func(posting.Item) bool { return false })
}

func (s *counting) close() {
	s.rt.Stop()
	if err := s.rt.Journal.Close(); err != nil {
		s.t.Error(err)
	}
}

func (s *counting) restart() {
	s.close()
	s.open()
}

func (s *counting) recall(_ ledger.ID, _ int64, env money.Env, since ledger.Micros, fn func(booked, at ledger.Micros, a *directory.Attempt) bool) error {
	s.reads++
	if s.gate != nil {
		<-s.gate
	}
	if s.panics {
		panic("a past that panics")
	}
	if s.failed != nil {
		return s.failed
	}
	for i := range s.past {
		l := &s.past[i]
		if l.at <= since || l.Asset.Env != env {
			continue
		}
		s.told++
		if !fn(l.booked, l.at, &l.Attempt) {
			return nil
		}
	}
	return nil
}

// after returns the time d after the start.
func after(d time.Duration) ledger.Micros { return ledger.MicrosOf(start.Add(d)) }

// to moves the clock.
func (s *counting) to(d time.Duration) {
	s.t.Helper()
	if err := s.clock.Set(start.Add(d)); err != nil {
		s.t.Fatal(err)
	}
}

// velocity returns a limit for partner 1, of a number of attempts per minute.
func velocity(most int64, scope directory.Scope) *directory.Limit {
	return &directory.Limit{
		ID: uuid.New(), Org: org, Partner: 1, Kind: directory.Velocity, Asset: usd, MaxCount: most, Window: time.Minute, Scope: scope, Active: true,
	}
}

// by returns an attempt with a card.
func by(card string) *directory.Attempt {
	return &directory.Attempt{Type: directory.PaymentTerminal, Asset: usd, Payer: directory.Payer{Card: card}}
}

// tried is the answer to an attempt.
type tried struct {
	breached *directory.Limit
	err      error
}

// answers counts an attempt, and returns every answer to it.
func (s *counting) answers(at ledger.Micros, a *directory.Attempt, limits ...*directory.Limit) []tried {
	all := make(chan tried, 8)
	s.Count(org, 1, limits, at, a, s.repeats, func(breached *directory.Limit, err error) { all <- tried{breached, err} })
	s.rt.Quiesce()
	close(all)
	var got []tried
	for one := range all {
		got = append(got, one)
	}
	return got
}

// tries counts an attempt that must be answered once and without an error.
func (s *counting) tries(d time.Duration, a *directory.Attempt, limits ...*directory.Limit) *directory.Limit {
	s.t.Helper()
	got := s.answers(after(d), a, limits...)
	if len(got) != 1 || got[0].err != nil {
		s.t.Fatalf("answered %v", got)
	}
	return got[0].breached
}

// admits and refuses count an attempt at a time after the start and check the answer.
func (s *counting) admits(d time.Duration, a *directory.Attempt, limits ...*directory.Limit) {
	s.t.Helper()
	if l := s.tries(d, a, limits...); l != nil {
		s.t.Errorf("after %v: refused by the limit to %d", d, l.MaxCount)
	}
}

func (s *counting) refuses(d time.Duration, a *directory.Attempt, limits ...*directory.Limit) {
	s.t.Helper()
	if s.tries(d, a, limits...) == nil {
		s.t.Errorf("after %v: admitted", d)
	}
}

// counts checks a velocity limit's usage by the clock.
func (s *counting) counts(l *directory.Limit, subject string, want int64, resets ledger.Micros) {
	s.t.Helper()
	u, err := s.Usage(context.Background(), l, subject)
	if err != nil {
		s.t.Fatal(err)
	}
	if u.Count != want || u.Resets != resets {
		s.t.Errorf("%d attempts until %v, want %d until %v", u.Count, u.Resets.Time(), want, resets.Time())
	}
}

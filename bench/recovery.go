package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mizan/bench/generator"
)

// Recovery is a start of the server after SIGKILL.
type Recovery struct {
	Clock      string  `json:"clock"` // "real" or "manual"
	ReadyAfter float64 `json:"ready_after_seconds"`
	ReadyAnon  int64   `json:"ready_anonymous_bytes"`
}

const (
	// maxPaymentsToKill bounds the payments before a kill. They fill the journal's log again after an earlier start has emptied
	// it, so that each start has as much to read as one after a kill at any time.
	maxPaymentsToKill = 50_000

	// killPoll is how often it is checked whether enough payments were sent.
	killPoll = 2 * time.Millisecond

	// clockFile is the file of a manual clock in the data directory. A store that has it can't be served with a real clock.
	clockFile = "clock"
)

var errKilled = errors.New("the server was killed")

// recover kills the server under load, twice, and measures how long it takes until it is ready again, first with the real
// clock and then with a manual one. At the end the server runs with the real clock.
func (s *soakRun) recover(ctx context.Context) error {
	if err := s.killUnderLoad(ctx); err != nil {
		return err
	}
	if err := s.restart(ctx, "real"); err != nil {
		return err
	}
	if err := s.killUnderLoad(ctx); err != nil {
		return err
	}
	if err := s.withManualClock(ctx); err != nil {
		return err
	}
	if err := s.start(ctx, s.dir); err != nil {
		return err
	}
	return s.reconnect()
}

// withManualClock measures a start with a manual clock. The store has the real clock again afterwards: the manual one has stood
// still, so nothing was booked ahead of the real time.
func (s *soakRun) withManualClock(ctx context.Context) (err error) {
	defer func() {
		if removeErr := os.Remove(filepath.Join(s.dir, clockFile)); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}()
	if err := s.restart(ctx, "manual"); err != nil {
		return err
	}
	stopped := s.server
	s.server = nil
	return stopped.Stop(stopTimeout)
}

// restart starts the server and records how long it took.
func (s *soakRun) restart(ctx context.Context, clock string) error {
	if err := s.start(ctx, s.dir, "--clock", clock); err != nil {
		return fmt.Errorf("bench: recovery with a %s clock: %w", clock, err)
	}
	s.report.Recovery = append(s.report.Recovery, Recovery{Clock: clock, ReadyAfter: s.server.ReadyAfter.Seconds(), ReadyAnon: s.usageAtReady.Anon})
	return s.reconnect()
}

// killUnderLoad makes payments and ends the server with SIGKILL meanwhile. Payments that were under way have an unknown
// outcome, which is looked up before the ledger is checked.
func (s *soakRun) killUnderLoad(ctx context.Context) error {
	l := s.load(s.payments.job)
	last := s.next + uint64(max(1, min(s.cfg.Payments/10, maxPaymentsToKill)))
	loadCtx, end := context.WithCancelCause(ctx)
	killed := make(chan error, 1)
	go func() {
		err := s.killAfter(loadCtx, l, last)
		killed <- err
		end(errKilled)
	}()
	err := l.Run(loadCtx, s.next)
	end(err) // if the run has not even begun
	s.next = l.NextNumber()
	if killErr := <-killed; killErr != nil {
		return fmt.Errorf("bench: recovery: %w", killErr)
	}
	s.server = nil // has ended, so it can't be stopped any more
	if !errors.Is(err, errKilled) {
		return fmt.Errorf("bench: recovery: %w", err)
	}
	return nil
}

// killAfter kills the server once the load has begun a request.
func (s *soakRun) killAfter(ctx context.Context, l *generator.Load, request uint64) error {
	tick := time.NewTicker(killPoll)
	defer tick.Stop()
	for l.NextNumber() < request {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return s.server.Kill()
}

// reconnect sends everything to the server that was started last, whose port is another one. The payments' requests keep the
// Host header with the first server's port, which the server does not look at.
func (r *serverRun) reconnect() error {
	r.auditor.client.CloseIdleConnections()
	r.sandbox = r.server.Sandbox
	config, err := r.sandbox.TLS()
	if err != nil {
		return err
	}
	r.auditor.baseURL = r.sandbox.BaseURL
	r.dialer, err = generator.NewDialer(r.sandbox.BaseURL, config)
	return err
}

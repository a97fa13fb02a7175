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

// Recovery has the figures of a start of the server after SIGKILL (`mizan bench soak --recovery`).
type Recovery struct {
	Clock      string  `json:"clock"` // "real" or "manual"
	ReadyAfter float64 `json:"ready_after_seconds"`
	ReadyAnon  int64   `json:"ready_anonymous_bytes"`
}

const (
	// maxPaymentsToKill is the maximum number of payments before a kill. These payments are necessary because an earlier start
	// has emptied the journal's log. They fill the log again, so that the next start has as much to read as after a kill at any
	// other time.
	maxPaymentsToKill = 50_000

	// killPoll is the time between two checks whether enough payments were sent.
	killPoll = 2 * time.Millisecond

	// clockFile is the file of a manual clock in the data directory. A store with this file can't be served with a real clock.
	clockFile = "clock"
)

var errKilled = errors.New("the server was killed")

// recover kills the server under load two times. After the first kill it measures how long a start with the real clock takes.
// After the second kill it measures how long a start with a manual clock takes. At the end the server runs with the real clock.
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

// withManualClock measures a start with a manual clock. Then it removes the clock's file, so that the store can be served with
// the real clock again. Removing the file is safe because the manual clock has stood still, so nothing was booked ahead of the
// real time.
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

// killUnderLoad makes payments, and meanwhile ends the server with SIGKILL. Payments that were under way have an unknown
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
	end(err) // ends killAfter if the run could not begin
	s.next = l.NextNumber()
	if killErr := <-killed; killErr != nil {
		return fmt.Errorf("bench: recovery: %w", killErr)
	}
	s.server = nil // the server has ended, so nothing must try to stop it
	if !errors.Is(err, errKilled) {
		return fmt.Errorf("bench: recovery: %w", err)
	}
	return nil
}

// killAfter kills the server when the load has begun all requests below the given number.
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

// reconnect directs all clients to the server that was started last. This server has another port. The Host header of the
// payments' requests still has the port of the first server, but the server ignores this header.
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

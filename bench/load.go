package bench

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// drainFor is the longest time that a run with a rate continues after its end, in order to send
// requests that were due before the end.
const drainFor = 10 * time.Second

// redialAfter is the pause after a failure to open a connection.
const redialAfter = 50 * time.Millisecond

// job makes the requests of one connection and checks the responses.
type job interface {
	// request returns the bytes of request n, valid until the next call.
	request(n uint64) []byte
	// check returns a description of what is wrong with the response to request n; "" if nothing is.
	check(n uint64, a *response) string
	// lost is called for a request that was sent and got no response.
	lost(n uint64)
}

// load is one run: connections that send the requests of a workload.
type load struct {
	dialer      *dialer
	newJob      func() job
	connections int
	duration    time.Duration // how long requests are sent; 0: until limit is reached
	limit       uint64        // total number of requests; 0: no limit
	rate        float64       // total requests a second; 0: each connection sends as soon as it can
	timeout     time.Duration // for one exchange
	figures     *figures
	watch       stopwatch // nil: the real time since run began

	next   atomic.Uint64 // number of the next request
	active []slot
}

// stopwatch measures the time since a run began. Tests use their own implementation.
type stopwatch interface {
	elapsed() time.Duration
	// await waits until the instant, or until ctx ends.
	await(ctx context.Context, due time.Duration)
}

// realWatch measures the real time since began.
type realWatch struct{ began time.Time }

func (w realWatch) elapsed() time.Duration { return time.Since(w.began) }

func (w realWatch) await(ctx context.Context, due time.Duration) {
	remaining := due - w.elapsed()
	if remaining <= 0 {
		return
	}
	timer := time.NewTimer(remaining)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// slot holds one connection, so that load.guard can end an exchange on it.
type slot struct {
	sent atomic.Int64 // start of the exchange under way, in nanoseconds since the run began, plus one; 0: none
	mu   sync.Mutex
	conn *conn // guarded by mu
}

// run opens the connections, sends requests until the end, and waits for the responses. Requests are
// numbered from first on. An error means that nothing was measured.
func (l *load) run(ctx context.Context, first uint64) error {
	l.next.Store(first)
	l.active = make([]slot, l.connections)
	for i := range l.active {
		c, err := l.dialer.dial(ctx)
		if err != nil {
			l.close()
			return err
		}
		l.active[i].conn = c
	}
	defer l.close()
	if l.limit != 0 {
		l.limit += first
	}
	if l.watch == nil {
		l.watch = realWatch{time.Now()}
	}
	var workers sync.WaitGroup
	for i := range l.active {
		workers.Go(func() { l.work(ctx, &l.active[i], first) })
	}
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	l.guard(ctx, done)
	return context.Cause(ctx)
}

// work is one connection's loop.
func (l *load) work(ctx context.Context, s *slot, first uint64) {
	j := l.newJob()
	now := l.watch.elapsed()
	for ctx.Err() == nil {
		n := l.next.Add(1) - 1
		if l.limit != 0 && n >= l.limit {
			return
		}
		due := now
		if l.rate != 0 {
			due = time.Duration(float64(n-first) / l.rate * float64(time.Second))
		}
		if l.duration != 0 && due >= l.duration {
			return
		}
		if due > now {
			if l.watch.await(ctx, due); ctx.Err() != nil {
				return
			}
			now = l.watch.elapsed()
		}
		if l.duration != 0 && now > l.duration+min(drainFor, l.duration) {
			l.figures.countUnsent(now - due)
			continue
		}
		now = l.send(ctx, s, j, n, due, now)
	}
}

// send makes one exchange and returns the time at its end.
func (l *load) send(ctx context.Context, s *slot, j job, n uint64, due, now time.Duration) time.Duration {
	if s.conn == nil && !l.redial(ctx, s) {
		return l.watch.elapsed()
	}
	s.sent.Store(int64(now) + 1)
	a, err := s.conn.exchange(j.request(n))
	s.sent.Store(0)
	sent := now
	now = l.watch.elapsed()
	if err != nil {
		l.figures.countError(errorKind(err))
		j.lost(n)
		s.closeConn()
		return now
	}
	if kind := j.check(n, a); kind != "" {
		l.figures.countError(kind)
	} else {
		l.figures.countGood(due, sent, now)
	}
	if a.closes {
		s.closeConn()
	}
	return now
}

// redial opens the slot's connection again, and pauses after a failure.
func (l *load) redial(ctx context.Context, s *slot) bool {
	c, err := l.dialer.dial(ctx)
	if err != nil {
		l.figures.countError("connect: " + errorKind(err))
		l.watch.await(ctx, l.watch.elapsed()+redialAfter)
		return false
	}
	s.mu.Lock()
	s.conn = c
	s.mu.Unlock()
	return true
}

// closeConn closes the slot's connection.
func (s *slot) closeConn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

func (l *load) close() {
	for i := range l.active {
		l.active[i].closeConn()
	}
}

// guard ends exchanges that take longer than the time-out. Checking all of them periodically
// costs less than a deadline for each.
func (l *load) guard(ctx context.Context, done <-chan struct{}) {
	tick := time.NewTicker(min(max(l.timeout/20, time.Millisecond), 100*time.Millisecond))
	defer tick.Stop()
	contextDone, allowed := ctx.Done(), l.timeout
	for {
		select {
		case <-done:
			return
		case <-contextDone:
			contextDone, allowed = nil, 0 // from now on the guard ends every exchange, including new ones
		case <-tick.C:
		}
		l.interrupt(allowed)
	}
}

// interrupt ends the exchanges that have taken longer than d.
func (l *load) interrupt(d time.Duration) {
	now := l.watch.elapsed()
	for i := range l.active {
		s := &l.active[i]
		if sent := s.sent.Load(); sent != 0 && now-time.Duration(sent) >= d {
			s.mu.Lock()
			if s.conn != nil && s.sent.Load() == sent {
				_ = s.conn.SetDeadline(time.Unix(1, 0))
			}
			s.mu.Unlock()
		}
	}
}

// errorKind returns a short name for an error of the network.
func errorKind(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, errResponse):
		return errResponse.Error()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "time-out"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &network) && network.Timeout():
		return "time-out"
	}
	return "other network error"
}

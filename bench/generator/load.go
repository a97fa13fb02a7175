package generator

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

// maxDrain bounds how long a run with a rate continues after its duration. In that time it sends the requests that were due
// within the duration.
const maxDrain = 10 * time.Second

// redialPause is the pause after a failed attempt to open a connection.
const redialPause = 50 * time.Millisecond

// Job creates the requests for one connection and checks the responses.
type Job interface {
	// Request returns the bytes of request n. They are valid until the next call.
	Request(n uint64) []byte
	// Check returns a short description of what is wrong with the response to request n, or "" if the response is right.
	Check(n uint64, a *Response) string
	// OnLost is called for a request that was sent and got no response.
	OnLost(n uint64)
}

// Load is one run, in which connections send the requests of a workload.
type Load struct {
	Dialer      *Dialer
	NewJob      func() Job
	Connections int
	Duration    time.Duration // how long requests are sent; 0 means until Limit is reached
	Limit       uint64        // total number of requests; 0 means no limit
	Rate        float64       // requests a second of all connections; 0 means that each connection sends as soon as it can
	Timeout     time.Duration // longest duration of one exchange (a request and its response)
	Figures     *Figures
	Open        *Connections // connections to use, which stay open; if nil, Run opens connections and closes them at the end
	watch       stopwatch    // if nil, Run uses real time

	nextNumber atomic.Uint64 // number of the next request
	slots      []connSlot    // one for each connection
}

// stopwatch measures the time since a run began. Tests use their own implementation.
type stopwatch interface {
	elapsed() time.Duration
	// await waits until the time since the run began reaches due, or until ctx ends.
	await(ctx context.Context, due time.Duration)
}

// realWatch is the stopwatch of real runs.
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

// connSlot holds one connection, so that Load.guard can end an exchange on it.
type connSlot struct {
	sentAt atomic.Int64 // start of the current exchange, in nanoseconds since the run began, plus one; 0 if there is none
	mu     sync.Mutex
	conn   *Conn // guarded by mu
}

// Connections are open connections, which several loads can use one after the other.
type Connections struct{ slots []connSlot }

// OpenConnections opens n connections. The caller closes them.
func OpenConnections(ctx context.Context, d *Dialer, n int) (*Connections, error) {
	c := &Connections{slots: make([]connSlot, n)}
	for i := range c.slots {
		conn, err := d.Dial(ctx)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.slots[i].conn = conn
	}
	return c, nil
}

// Close closes all connections. No load may use them any more.
func (c *Connections) Close() {
	for i := range c.slots {
		c.slots[i].closeConn()
	}
}

// Run opens the connections, sends requests until the duration or the limit is reached, and waits for the
// responses. Requests are numbered from firstNumber on. An error means that the results are not valid.
func (l *Load) Run(ctx context.Context, firstNumber uint64) error {
	l.nextNumber.Store(firstNumber)
	open := l.Open
	if open == nil {
		var err error
		if open, err = OpenConnections(ctx, l.Dialer, l.Connections); err != nil {
			return err
		}
		defer open.Close()
	}
	l.slots = open.slots
	if l.Limit != 0 {
		l.Limit += firstNumber
	}
	if l.watch == nil {
		l.watch = realWatch{time.Now()}
	}
	var workers sync.WaitGroup
	for i := range l.slots {
		workers.Go(func() { l.work(ctx, &l.slots[i], firstNumber) })
	}
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	l.guard(ctx, done)
	return context.Cause(ctx)
}

// NextNumber returns the number of the next request. Requests with smaller numbers have been sent, or will be sent when they
// are due, unless the run ends first.
func (l *Load) NextNumber() uint64 { return l.nextNumber.Load() }

// work sends the requests of one connection until the duration or the limit is reached, or ctx ends.
func (l *Load) work(ctx context.Context, s *connSlot, firstNumber uint64) {
	j := l.NewJob()
	now := l.watch.elapsed()
	for ctx.Err() == nil {
		n := l.nextNumber.Add(1) - 1
		if l.Limit != 0 && n >= l.Limit {
			return
		}
		due := now
		if l.Rate != 0 {
			due = time.Duration(float64(n-firstNumber) / l.Rate * float64(time.Second))
		}
		if l.Duration != 0 && due >= l.Duration {
			return
		}
		if due > now {
			if l.watch.await(ctx, due); ctx.Err() != nil {
				return
			}
			now = l.watch.elapsed()
		}
		if l.Duration != 0 && now > l.Duration+min(maxDrain, l.Duration) {
			l.Figures.countUnsent(now - due)
			continue
		}
		now = l.send(ctx, s, j, n, due, now)
	}
}

// send makes one exchange and returns the time at its end.
func (l *Load) send(ctx context.Context, s *connSlot, j Job, n uint64, due, now time.Duration) time.Duration {
	if s.conn == nil && !l.redial(ctx, s) {
		return l.watch.elapsed()
	}
	s.sentAt.Store(int64(now) + 1)
	a, err := s.conn.Exchange(j.Request(n))
	s.sentAt.Store(0)
	sent := now
	now = l.watch.elapsed()
	if err != nil {
		l.Figures.countError(errorKind(err))
		j.OnLost(n)
		s.closeConn()
		return now
	}
	if kind := j.Check(n, a); kind != "" {
		l.Figures.countError(kind)
	} else {
		l.Figures.CountGood(due, sent, now)
	}
	if a.ClosesConn {
		s.closeConn()
	}
	return now
}

// redial opens the slot's connection again. After a failed attempt it pauses and returns false.
func (l *Load) redial(ctx context.Context, s *connSlot) bool {
	c, err := l.Dialer.Dial(ctx)
	if err != nil {
		l.Figures.countError("connect: " + errorKind(err))
		l.watch.await(ctx, l.watch.elapsed()+redialPause)
		return false
	}
	s.mu.Lock()
	s.conn = c
	s.mu.Unlock()
	return true
}

// closeConn closes the slot's connection.
func (s *connSlot) closeConn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

// guard ends each exchange that takes longer than the time-out. When ctx has ended, guard ends all exchanges. It returns when
// done is closed. A periodic check of all exchanges costs less than setting a deadline for each exchange.
func (l *Load) guard(ctx context.Context, done <-chan struct{}) {
	tick := time.NewTicker(min(max(l.Timeout/20, time.Millisecond), 100*time.Millisecond))
	defer tick.Stop()
	contextDone, maxAge := ctx.Done(), l.Timeout
	for {
		select {
		case <-done:
			return
		case <-contextDone:
			contextDone, maxAge = nil, 0 // from now on the guard ends every exchange, including new ones
		case <-tick.C:
		}
		l.interrupt(maxAge)
	}
}

// interrupt ends the exchanges that have taken maxAge or longer.
func (l *Load) interrupt(maxAge time.Duration) {
	now := l.watch.elapsed()
	for i := range l.slots {
		s := &l.slots[i]
		if sent := s.sentAt.Load(); sent != 0 && now-time.Duration(sent) >= maxAge {
			s.mu.Lock()
			if s.conn != nil && s.sentAt.Load() == sent {
				_ = s.conn.SetDeadline(time.Unix(1, 0))
			}
			s.mu.Unlock()
		}
	}
}

// errorKind returns a short name for a network error.
func errorKind(err error) string {
	var netErr net.Error
	switch {
	case errors.Is(err, errMalformed):
		return errMalformed.Error()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "time-out"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &netErr) && netErr.Timeout():
		return "time-out"
	}
	return "other network error"
}

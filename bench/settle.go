package bench

import (
	"context"
	"fmt"
	"time"

	"mizan/bench/generator"
)

const (
	settleTimeout = 2 * time.Minute // total time for unresolved payments
	settlePause   = 10 * time.Millisecond
)

// settle finds the outcome of each payment whose outcome is unknown: it creates the payment again with the same
// txid, and the server returns the existing transaction or creates it now. It returns how many payments had an
// unknown outcome.
func (p *payments) settle(ctx context.Context, d *generator.Dialer) (int, error) {
	p.mu.Lock()
	unresolved := p.unresolved
	tooManyUnresolved := p.tooManyUnresolved
	p.unresolved = nil
	p.mu.Unlock()
	if tooManyUnresolved {
		return 0, fmt.Errorf("bench: more than %d payments have no known outcome: the ledger can't be checked", maxUnresolved)
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	s := &settler{paymentJob: p.job().(*paymentJob), dialer: d}
	defer s.closeConn()
	for _, n := range unresolved {
		for !s.resolve(ctx, n) {
			select {
			case <-ctx.Done():
				return len(unresolved), fmt.Errorf("bench: payment %d still has no outcome: %w", n, ctx.Err())
			case <-time.After(settlePause):
			}
		}
	}
	return len(unresolved), nil
}

// settler sends the requests of settle on its own connection.
type settler struct {
	paymentJob *paymentJob
	dialer     *generator.Dialer
	conn       *generator.Conn // nil: closed
}

// resolve creates payment n once more and tells whether its outcome is known now.
func (s *settler) resolve(ctx context.Context, n uint64) bool {
	if s.conn == nil {
		c, err := s.dialer.Dial(ctx)
		if err != nil {
			return false
		}
		s.conn = c
	}
	_ = s.conn.SetDeadline(time.Now().Add(generator.DialTimeout))
	a, err := s.conn.Exchange(s.paymentJob.Request(n))
	if err != nil {
		s.closeConn()
		return false
	}
	if a.ClosesConn {
		defer s.closeConn()
	}
	problem := s.paymentJob.Check(n, a)
	return problem == "" || (a.Status == 201 && neverCharged(string(generator.MemberValue(a.Body, `"status":`)))) || (a.Status >= 400 && a.Status < 500 && a.Status != 429)
}

func (s *settler) closeConn() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

package bench

import (
	"context"
	"fmt"
	"time"
)

const (
	settleFor   = 2 * time.Minute // total time for unresolved payments
	settleAgain = 10 * time.Millisecond
)

// settle resolves each payment with an unknown outcome: it creates the payment again with the same
// txid, and the server returns the existing transaction or creates it now. It returns the number of
// such payments.
func (p *payments) settle(ctx context.Context, d *dialer) (int, error) {
	p.mu.Lock()
	unresolved := p.unresolved
	overflow := p.overflow
	p.unresolved = nil
	p.mu.Unlock()
	if overflow {
		return 0, fmt.Errorf("bench: more than %d payments have no known outcome: the ledger can't be checked", maxUnresolved)
	}
	ctx, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	s := &settler{payer: p.job().(*payer), dialer: d}
	defer s.closeConn()
	for _, n := range unresolved {
		for !s.resolve(ctx, n) {
			select {
			case <-ctx.Done():
				return len(unresolved), fmt.Errorf("bench: payment %d still has no outcome: %w", n, ctx.Err())
			case <-time.After(settleAgain):
			}
		}
	}
	return len(unresolved), nil
}

// settler sends the requests of settle on its own connection.
type settler struct {
	payer  *payer
	dialer *dialer
	slot
}

// resolve creates payment n once more and tells whether its outcome is known now.
func (s *settler) resolve(ctx context.Context, n uint64) bool {
	if s.conn == nil {
		c, err := s.dialer.dial(ctx)
		if err != nil {
			return false
		}
		s.conn = c
	}
	_ = s.conn.SetDeadline(time.Now().Add(dialTimeout))
	a, err := s.conn.exchange(s.payer.request(n))
	if err != nil {
		s.closeConn()
		return false
	}
	if a.closes {
		defer s.closeConn()
	}
	kind := s.payer.check(n, a)
	return kind == "" || (a.status == 201 && neverCharged(string(memberValue(a.body, `"status":`)))) || (a.status >= 400 && a.status < 500 && a.status != 429)
}

package bench

import (
	"context"
	"fmt"
	"time"

	"mizan/bench/generator"
)

const (
	resolveTimeout = 2 * time.Minute // total time for unresolved payments
	resolvePause   = 10 * time.Millisecond
)

// resolveUnknown finds the outcome of each payment whose outcome is unknown. It sends the create request again with the
// same txid, and the server returns the existing transaction or creates it now. It returns how many payments had an
// unknown outcome.
func (p *payments) resolveUnknown(ctx context.Context, d *generator.Dialer) (int, error) {
	p.mu.Lock()
	unresolved := p.unresolved
	tooManyUnresolved := p.tooManyUnresolved
	p.unresolved = nil
	p.mu.Unlock()
	if tooManyUnresolved {
		return 0, fmt.Errorf("bench: more than %d payments have no known outcome: the ledger can't be checked", maxUnresolved)
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	r := &resolver{paymentJob: p.job().(*paymentJob), dialer: d}
	defer r.closeConn()
	for _, n := range unresolved {
		for !r.resolve(ctx, n) {
			select {
			case <-ctx.Done():
				return len(unresolved), fmt.Errorf("bench: payment %d still has no outcome: %w", n, ctx.Err())
			case <-time.After(resolvePause):
			}
		}
	}
	return len(unresolved), nil
}

// resolver sends the requests of resolveUnknown on its own connection.
type resolver struct {
	paymentJob *paymentJob
	dialer     *generator.Dialer
	conn       *generator.Conn // nil: closed
}

// resolve sends the create request of payment n once more, and tells whether the payment's outcome is known now.
func (r *resolver) resolve(ctx context.Context, n uint64) bool {
	if r.conn == nil {
		c, err := r.dialer.Dial(ctx)
		if err != nil {
			return false
		}
		r.conn = c
	}
	_ = r.conn.SetDeadline(time.Now().Add(generator.DialTimeout))
	a, err := r.conn.Exchange(r.paymentJob.Request(n))
	if err != nil {
		r.closeConn()
		return false
	}
	if a.ClosesConn {
		defer r.closeConn()
	}
	problem := r.paymentJob.Check(n, a)
	return problem == "" || (a.Status == 201 && neverCharged(string(generator.MemberValue(a.Body, `"status":`)))) || (a.Status >= 400 && a.Status < 500 && a.Status != 429)
}

func (r *resolver) closeConn() {
	if r.conn != nil {
		_ = r.conn.Close()
		r.conn = nil
	}
}

package bench

import (
	"context"
	"fmt"
	"io"
)

// overloadFactors are the loads that --overload offers, in multiples of the capacity.
var overloadFactors = []float64{1, 2, 5}

// capacityConnections is the number of connections that measure the capacity, each with one request at
// a time.
const capacityConnections = 256

// Offered is the result of offering one load.
type Offered struct {
	Factor  float64 `json:"factor"` // multiple of the capacity
	Rate    float64 `json:"rate"`   // requests a second
	Outcome Outcome `json:"outcome"`
}

// overload measures the capacity, and then how many payments are charged when one, two and five times
// as many are offered. Latencies are those of charged payments and count from their due times. Payments
// that the server sheds are among the errors, as HTTP 503.
func (r *paymentsRun) overload(ctx context.Context, first uint64) (Outcome, error) {
	l := r.load(r.payments.job)
	l.connections, l.duration = capacityConnections, r.cfg.Duration
	capacity, err := r.drive(ctx, "capacity", l, first)
	for _, factor := range overloadFactors {
		if err != nil {
			break
		}
		first = l.next.Load()
		l = r.load(r.payments.job)
		l.duration, l.rate = r.cfg.Duration, factor*capacity.PerSecond
		var o Outcome
		o, err = r.drive(ctx, fmt.Sprintf("%gx", factor), l, first)
		r.report.Overload = append(r.report.Overload, Offered{Factor: factor, Rate: l.rate, Outcome: o})
	}
	return capacity, err
}

func (r *paymentsRun) printOverload(out io.Writer) {
	for i := range r.report.Overload {
		f := &r.report.Overload[i]
		printLine(out, "offered    %gx, %.0f/s over %d connections: %.0f/s charged, p99 %.2f ms since sent; since due %v, sent late p99 %.2f ms; not charged: %s",
			f.Factor, f.Rate, r.cfg.Connections, f.Outcome.PerSecond, f.Outcome.SentP99, f.Outcome.Latency, f.Outcome.LateP99, f.Outcome.errorText())
	}
}

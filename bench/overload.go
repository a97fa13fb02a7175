package bench

import (
	"context"
	"fmt"
	"io"

	"mizan/bench/generator"
)

// overloadFactors are the loads that --overload offers, as multiples of the capacity. The capacity is the number of payments per
// second that are charged over capacityConnections connections, each of which waits for every response.
var overloadFactors = []float64{1, 2, 5}

// capacityConnections is the number of connections over which the capacity is measured. Each connection has one request at a
// time.
const capacityConnections = 256

// OfferedLoad is a load that --overload has offered, and its result.
type OfferedLoad struct {
	Factor  float64           `json:"factor"` // multiple of the capacity
	Rate    float64           `json:"rate"`   // requests a second
	Outcome generator.Outcome `json:"outcome"`
}

// overload measures the capacity. Then it offers one, two and five times as many payments, and measures how many of them are
// charged. The requests are numbered from firstNumber on. The latency of a payment is measured from the instant at which the
// payment was due. Payments that were due but never sent count too. If the server is overloaded and refuses a payment, the
// payment counts as an error (HTTP 503).
func (r *serverRun) overload(ctx context.Context, firstNumber uint64) (generator.Outcome, error) {
	l := r.load(r.payments.job)
	l.Connections, l.Duration = capacityConnections, r.cfg.Duration
	capacity, err := r.runLoad(ctx, "capacity", l, firstNumber)
	for _, factor := range overloadFactors {
		if err != nil {
			break
		}
		firstNumber = l.NextNumber()
		l = r.load(r.payments.job)
		l.Duration, l.Rate = r.cfg.Duration, factor*capacity.PerSecond
		var o generator.Outcome
		o, err = r.runLoad(ctx, fmt.Sprintf("%gx", factor), l, firstNumber)
		r.report.Overload = append(r.report.Overload, OfferedLoad{Factor: factor, Rate: l.Rate, Outcome: o})
	}
	return capacity, err
}

func (r *serverRun) printOverload(out io.Writer) {
	for i := range r.report.Overload {
		offered := &r.report.Overload[i]
		printLine(out, "offered    %gx, %.0f/s over %d connections: %.0f/s charged, p99 %.2f ms since sent; since due %v, sent late p99 %.2f ms; not charged: %s",
			offered.Factor, offered.Rate, r.cfg.Connections, offered.Outcome.PerSecond, offered.Outcome.SinceSentP99, offered.Outcome.Latency, offered.Outcome.LateP99, offered.Outcome.ErrorText())
	}
}

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	paymentactor "mizan/actors/payment"
	"mizan/ledger/payment"
)

func (m *Metrics) registerPayments() {
	m.payments = m.newCounters("mizan_transactions_total", "Transactions that reached a status, by type and status; each durable change counts once.", "type", "status")
	m.failures = m.newCounters("mizan_transaction_failures_total", "Transactions that were rejected or failed, by type, error code and, for limits and the block list, kind.", "type", "error_code", "kind")
	m.calls = m.newHistograms("mizan_provider_call_seconds", "Calls and inquiries to providers, by provider, operation and outcome.", latencyBuckets, "provider", "operation", "outcome")
}

// OnStatusChange counts a durable change of a transaction's status.
func (m *Metrics) OnStatusChange(r *payment.Record) {
	m.payments.WithLabelValues(r.Type.String(), string(r.Status)).Inc()
	if r.Status == payment.Rejected || r.Status == payment.Failed {
		m.failures.WithLabelValues(r.Type.String(), string(r.Failure.Code), kindOf(&r.Failure)).Inc()
	}
}

// kindOf returns the kind of the limit or block list entry that caused a failure. For any other cause it returns an empty
// string, because the details of other causes are free text from providers.
func kindOf(f *payment.Failure) string {
	if f.Code == payment.LimitExceeded || f.Code == payment.AntiFraud {
		return f.Detail
	}
	return ""
}

// OnProviderCall counts a call to a provider: a payment operation, or an inquiry about such an operation.
func (m *Metrics) OnProviderCall(c paymentactor.ProviderCall) {
	m.calls.WithLabelValues(c.Provider, c.Operation, c.Verdict.String()).Observe(c.Took.Seconds())
}

// circuitCollector provides the metrics about terminals whose circuit breaker is open or half open.
type circuitCollector struct {
	description *prometheus.Desc
	figures     func() paymentactor.CircuitFigures
	providers   []string
}

// RegisterCircuits registers the metrics about the terminals' circuit breakers. Each provider has a time series from the start,
// with the value 0, so that the first circuit that opens changes an existing series.
func (m *Metrics) RegisterCircuits(providers []string, figures func() paymentactor.CircuitFigures) {
	m.register.MustRegister(&circuitCollector{
		description: prometheus.NewDesc("mizan_provider_circuits", "Terminals whose provider has not answered: skipped (open), or about to be probed (half_open).", []string{"provider", "state"}, nil),
		figures:     figures, providers: providers,
	})
}

// Describe implements prometheus.Collector.
func (c *circuitCollector) Describe(to chan<- *prometheus.Desc) { to <- c.description }

// Collect implements prometheus.Collector.
func (c *circuitCollector) Collect(to chan<- prometheus.Metric) {
	figures := c.figures()
	for _, provider := range c.providers {
		to <- prometheus.MustNewConstMetric(c.description, prometheus.GaugeValue, float64(figures.Open[provider]), provider, "open")
		to <- prometheus.MustNewConstMetric(c.description, prometheus.GaugeValue, float64(figures.HalfOpen[provider]), provider, "half_open")
	}
}

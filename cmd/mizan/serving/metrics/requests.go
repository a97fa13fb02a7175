package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"mizan/api"
	"mizan/api/accesslog"
	"mizan/api/connlimit"
	"mizan/api/shed"
	"mizan/ledger"
)

func (m *Metrics) registerRequests() {
	m.requests = m.newHistograms("mizan_http_request_duration_seconds", "Requests by route, method and status.", latencyBuckets, "route", "method", "status")
	refusals := m.newCounters("mizan_requests_refused_total", "Requests that were refused because a bound was reached, by the bound.", "limiter")
	m.refusals = make(map[string]prometheus.Counter)
	for _, l := range ledger.Limiters {
		m.refusals[string(l)] = refusals.WithLabelValues(string(l)) // creates the series with 0, so that the first refusal changes an existing series
	}
}

// OnExchange counts a request.
func (m *Metrics) OnExchange(e api.Exchange) {
	m.requests.WithLabelValues(e.Route, e.Method, strconv.Itoa(e.Status)).Observe(e.Took.Seconds())
	if e.Limiter == "" {
		return
	}
	if c := m.refusals[string(e.Limiter)]; c != nil {
		c.Inc()
	}
}

// RegisterConnections registers the metrics about the gate that limits client connections.
func (m *Metrics) RegisterConnections(g *connlimit.Gate) {
	m.gaugeFunc("mizan_connections", "Connections of clients.", func() float64 { return float64(g.Open()) })
	m.counterFunc("mizan_connections_closed_total", "Connections that waited and were closed to make room for others.", func() float64 { return float64(g.Evicted()) })
	m.counterFunc("mizan_connections_refused_total", "Connections that were closed on arrival, because there was no room.", func() float64 { return float64(g.Refused()) })
}

// RegisterAccessLog registers the metrics about the access log.
func (m *Metrics) RegisterAccessLog(l *accesslog.Log) {
	m.counterFunc("mizan_access_log_dropped_total", "Lines of the access log that were dropped because stderr was read too slowly.", func() float64 { return float64(l.Dropped()) })
}

// RegisterAPI registers the metrics about the API's server.
func (m *Metrics) RegisterAPI(s *api.Server) {
	m.gaugeFunc("mizan_request_body_bytes", "Bytes held for request bodies above 4 KiB.", func() float64 { return float64(s.BodyBytes()) })
	figure := func(of func(shed.Figures) float64) func() float64 {
		return func() float64 { return of(s.Shed()) }
	}
	m.gaugeFunc("mizan_commands_in_service", "Commands in progress, including those that wait for a provider.", figure(func(f shed.Figures) float64 { return float64(f.Inside) }))
	m.gaugeFunc("mizan_commands_waiting", "Commands that wait to be started, because too many are in progress.", figure(func(f shed.Figures) float64 { return float64(f.Waiting) }))
	m.gaugeFunc("mizan_commands_head_age_seconds", "How long the oldest waiting command has waited to be started.", figure(func(f shed.Figures) float64 { return f.HeadAge.Seconds() }))
	m.counterFunc("mizan_commands_shed_total", "Commands that were answered 503 because they had waited too long to be started.", figure(func(f shed.Figures) float64 { return float64(f.Shed) }))
}

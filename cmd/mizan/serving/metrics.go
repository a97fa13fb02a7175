package serving

import (
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"mizan/api/connlimit"
	"mizan/api/shed"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
)

// Time-outs of the metrics listener.
const (
	scrapeHeaderTimeout = 5 * time.Second
	scrapeTimeout       = 30 * time.Second
)

// scrapeHeaderBytes bounds the request line and headers on the metrics listener; net/http adds 4 KiB.
const scrapeHeaderBytes = 8 << 10

// metrics are the figures that --metrics-listen serves. They are always collected, so that the
// server runs the same code with and without that flag.
type metrics struct {
	registry   *prometheus.Registry
	requests   *prometheus.HistogramVec
	payments   *prometheus.CounterVec
	deliveries *prometheus.HistogramVec
}

func newMetrics(s *server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mizan_http_request_duration_seconds", Help: "Requests by route, method and status.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}, []string{"route", "method", "status"}),
		payments: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mizan_transactions_total", Help: "Transactions that reached a status, by type and status; each durable change counts once.",
		}, []string{"type", "status"}),
	}
	m.deliveries = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "mizan_notification_attempt_seconds", Help: "Attempts to deliver notifications, by channel and result.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
	}, []string{"channel", "result"})
	m.registry.MustRegister(m.requests, m.payments, m.deliveries, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registerJournal(s)
	m.registerGauge("mizan_actors_live", "Actors with work.", func() float64 {
		if s.runtime == nil {
			return 0
		}
		return float64(s.runtime.ActorsWithWork())
	})
	m.registerCounter("mizan_checkpoints_total", "Checkpoints of trial balances made.", func() float64 {
		if s.checkpoints == nil {
			return 0
		}
		return float64(s.checkpoints.Made())
	})
	m.registerCounter("mizan_replies_unreadable_total", "Requests repeated with an idempotency key whose stored reply did not open. Anything but 0 is for an operator to look at.", func() float64 {
		if s.runtime == nil {
			return 0
		}
		return float64(s.runtime.RepliesUnreadable())
	})
	m.registerGauge("mizan_connections", "Connections of clients.", func() float64 { return gateFigure(s, (*connlimit.Gate).Open) })
	m.registerCounter("mizan_connections_closed_total", "Connections that waited and were closed to make room for others.", func() float64 { return gateFigure(s, (*connlimit.Gate).Evicted) })
	m.registerCounter("mizan_connections_refused_total", "Connections that were closed as soon as they came, for want of room.", func() float64 { return gateFigure(s, (*connlimit.Gate).Refused) })
	m.registerGauge("mizan_request_body_bytes", "Bytes held for request bodies above 4 KiB.", func() float64 {
		if server := s.api.Load(); server != nil {
			return float64(server.BodyBytes())
		}
		return 0
	})
	shedFigure := func(figure func(shed.Figures) float64) func() float64 {
		return func() float64 {
			if server := s.api.Load(); server != nil {
				return figure(server.Shed())
			}
			return 0
		}
	}
	m.registerGauge("mizan_commands_in_service", "Commands that have a place, including those that wait for a provider.", shedFigure(func(f shed.Figures) float64 { return float64(f.Inside) }))
	m.registerGauge("mizan_commands_waiting", "Commands that wait for a place.", shedFigure(func(f shed.Figures) float64 { return float64(f.Waiting) }))
	m.registerGauge("mizan_commands_head_age_seconds", "How long the command that has waited longest has waited for a place.", shedFigure(func(f shed.Figures) float64 { return f.HeadAge.Seconds() }))
	m.registerCounter("mizan_commands_shed_total", "Commands that were answered 503 because they had waited too long for a place.", shedFigure(func(f shed.Figures) float64 { return float64(f.Shed) }))
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mizan_build_info", Help: "Always 1; what is running.",
		ConstLabels: prometheus.Labels{"version": s.version, "go": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(build)
	return m
}

// gateFigure returns a figure of the gate that bounds clients' connections; 0 before the gate exists.
func gateFigure[N int | uint64](s *server, figure func(*connlimit.Gate) N) float64 {
	if s.gate == nil {
		return 0
	}
	return float64(figure(s.gate))
}

// registerJournal registers the figures of the journal's writer, which makes changes durable in groups, and of
// the store.
func (m *metrics) registerJournal(s *server) {
	j := s.journal
	groupChanges := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "mizan_group_changes", Help: "Changes in a group that was made durable.",
		Buckets: prometheus.ExponentialBuckets(1, 2, 14),
	})
	groupRows := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "mizan_group_rows", Help: "Rows in a group.", Buckets: prometheus.ExponentialBuckets(4, 2, 15),
	})
	groupTime := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "mizan_group_sync_seconds", Help: "Time to make a group durable and readable: one sync of the log, one transaction.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
	})
	m.registry.MustRegister(groupChanges, groupRows, groupTime)
	j.Stats.OnGroup = func(changes, rows, _ int, took time.Duration) {
		groupChanges.Observe(float64(changes))
		groupRows.Observe(float64(rows))
		groupTime.Observe(took.Seconds())
	}
	m.registerCounter("mizan_syncs_total", "Groups synced.", func() float64 { return float64(j.Stats.Groups.Load()) })
	m.registerCounter("mizan_changes_total", "Changes answered, refusals included.", func() float64 { return float64(j.Stats.Changes.Load()) })
	m.registerCounter("mizan_changes_refused_total", "Commands refused for a full queue or a nearly full disk.", func() float64 { return float64(j.Stats.Refused.Load()) })
	m.registerCounter("mizan_written_bytes_total", "Bytes of rows written.", func() float64 { return float64(j.Stats.Bytes.Load()) })
	m.registerGauge("mizan_queue_depth", "Changes waiting for the writer.", func() float64 { return float64(j.QueueDepth()) })
	m.registerGauge("mizan_store_unverified_bytes", "Bytes of the files of long values, as they were at the start, that were not compared with their checksums since. Damage that a row needs ends the process.", func() float64 { return float64(j.UnverifiedBytes()) })
	m.registerGauge("mizan_store_bytes", "Size of the store.", func() float64 { return float64(j.Size()) })
	m.registerGauge("mizan_low_space", "1 while commands are refused for want of disk space.", func() float64 {
		if j.LowSpace() {
			return 1
		}
		return 0
	})
}

func (m *metrics) registerCounter(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
}

func (m *metrics) registerGauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// observe counts a response. route is a pattern and not a path, so the number of time series is
// bounded.
func (m *metrics) observe(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
}

// newServer returns the HTTP server for GET /metrics. Errors of connections go to the log.
func (m *metrics) newServer(log *slog.Logger) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return &http.Server{Handler: mux, ReadHeaderTimeout: scrapeHeaderTimeout, ReadTimeout: scrapeTimeout, WriteTimeout: scrapeTimeout,
		MaxHeaderBytes: scrapeHeaderBytes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
}

// onDelivery counts an attempt to deliver a notification.
func (m *metrics) onDelivery(channel posting.Channel, failed bool, took time.Duration) {
	result := "acknowledged"
	if failed {
		result = "failed"
	}
	m.deliveries.WithLabelValues(channel.String(), result).Observe(took.Seconds())
}

// onStatusChange counts a durable change of a transaction's status.
func (m *metrics) onStatusChange(_ ledger.ID, _ payment.Status, r *payment.Record) {
	m.payments.WithLabelValues(r.Type.String(), string(r.Status)).Inc()
}

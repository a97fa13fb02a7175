package metrics

import (
	"log/slog"
	"net/http"
	"net/http/pprof"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Time-outs of the metrics listener.
const (
	headerTimeout  = 5 * time.Second
	scrapeTimeout  = 30 * time.Second
	profileTimeout = 5 * time.Minute // time-out of every response if profiles are served; the client chooses how long a profile takes
)

// maxHeaderBytes is the maximum size of a request's first line and headers on the metrics listener. net/http allows 4 KiB more.
const maxHeaderBytes = 8 << 10

// Metrics collects the server's figures. Figures are collected even without --metrics-listen, so that the server always runs
// the same code.
type Metrics struct {
	registry   *prometheus.Registry
	register   prometheus.Registerer
	requests   *prometheus.HistogramVec
	refusals   map[string]prometheus.Counter // keyed by the name of the limit that was reached
	payments   *prometheus.CounterVec
	failures   *prometheus.CounterVec
	calls      *prometheus.HistogramVec
	deliveries *prometheus.HistogramVec
	started    time.Time
	readyAfter prometheus.Gauge
}

// New returns the metrics of a process that has just started. version is the program's version.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), started: time.Now()}
	m.register = m.registry
	m.register.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registerRequests()
	m.registerPayments()
	m.registerDeliveries()
	build := m.newGauge(prometheus.GaugeOpts{
		Name: "mizan_build_info", Help: "Always 1; the labels have the versions of the program and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	})
	build.Set(1)
	m.readyAfter = m.newGauge(prometheus.GaugeOpts{
		Name: "mizan_start_seconds", Help: "How long the start took until requests were served; 0 while it is going on.",
	})
	return m
}

// OfShard returns the metrics of one shard. What is registered with them has the label shard, until end is called. Requests,
// payments, calls and deliveries are counted together with those of the other shards.
func (m *Metrics) OfShard(shard int) (of *Metrics, end func()) {
	r := &endingRegisterer{Registerer: prometheus.WrapRegistererWith(prometheus.Labels{"shard": strconv.Itoa(shard)}, m.registry)}
	copied := *m
	copied.register = r
	return &copied, r.end
}

// endingRegisterer remembers what was registered with it.
type endingRegisterer struct {
	prometheus.Registerer
	registered []prometheus.Collector
}

// MustRegister implements prometheus.Registerer.
func (r *endingRegisterer) MustRegister(collectors ...prometheus.Collector) {
	r.Registerer.MustRegister(collectors...)
	r.registered = append(r.registered, collectors...)
}

func (r *endingRegisterer) end() {
	for _, c := range r.registered {
		r.Unregister(c)
	}
}

// Started returns when the process started.
func (m *Metrics) Started() time.Time { return m.started }

// RegisterReadiness registers a metric that tells whether the server accepts commands.
func (m *Metrics) RegisterReadiness(isReady func() bool) {
	m.gaugeFunc("mizan_ready", "1 while the server accepts commands, as GET /readyz says.", func() float64 { return oneIf(isReady()) })
}

// Ready records that the server serves requests from now on.
func (m *Metrics) Ready() { m.readyAfter.Set(time.Since(m.started).Seconds()) }

func oneIf(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}

func (m *Metrics) newGauge(o prometheus.GaugeOpts) prometheus.Gauge {
	g := prometheus.NewGauge(o)
	m.register.MustRegister(g)
	return g
}

func (m *Metrics) newHistogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	m.register.MustRegister(h)
	return h
}

func (m *Metrics) newHistograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.register.MustRegister(h)
	return h
}

func (m *Metrics) newCounters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.register.MustRegister(c)
	return c
}

func (m *Metrics) counterFunc(name, help string, value func() float64) {
	m.register.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
}

func (m *Metrics) gaugeFunc(name, help string, value func() float64) {
	m.register.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// latencyBuckets are the upper bounds of histogram buckets in seconds, from half a millisecond to 16 seconds.
var latencyBuckets = prometheus.ExponentialBuckets(0.0005, 2, 16)

// NewServer returns the HTTP server for GET /metrics. If withProfiles is true, it also serves profiles below /debug/pprof/.
// Connection errors are logged at level debug.
func (m *Metrics) NewServer(log *slog.Logger, withProfiles bool) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: scrapeTimeout, WriteTimeout: scrapeTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	if withProfiles {
		server.WriteTimeout = profileTimeout
		mux.HandleFunc("GET /debug/pprof/", pprof.Index) // also serves the named profiles, such as heap
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	}
	return server
}

// Gather returns the prometheus.Gatherer that reads the current figures.
func (m *Metrics) Gather() prometheus.Gatherer { return m.registry }

package generator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Range and precision of the recorded latencies: one microsecond to one hour, with three significant digits.
const (
	minLatency        = time.Microsecond
	maxLatency        = time.Hour
	significantDigits = 3
)

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(minLatency/time.Microsecond), int64(maxLatency/time.Microsecond), significantDigits)
}

// Figures counts a run's results. All connections share one Figures value, because separate histograms for many connections
// would not fit into the CPU cache. A response is good if it is the response that the workload expects.
type Figures struct {
	mu             sync.Mutex
	latency        *hdrhistogram.Histogram // µs; latencies of good responses, waiting times of requests that were never sent
	lateness       *hdrhistogram.Histogram // µs from the due time of a request until it was sent
	sinceSent      *hdrhistogram.Histogram // µs from sending a request to its good response
	goodCount      uint64
	errorCounts    map[string]uint64 // by kind of error
	longestLatency time.Duration
	lastGood       time.Duration // time from the start of the run to the last good response; Append adds a run's length

	interval       *hdrhistogram.Histogram // latencies in µs since the last call of NextInterval; nil before the first
	intervalGood   uint64                  // goodCount at the last call of NextInterval
	intervalErrors uint64                  // number of errors at the last call of NextInterval
}

func NewFigures() *Figures {
	return &Figures{latency: newHistogram(), lateness: newHistogram(), sinceSent: newHistogram(), errorCounts: make(map[string]uint64)}
}

// CountGood counts a request with a good response. The arguments are times since the run began: when the request was due, when
// it was sent, and when the response arrived.
func (f *Figures) CountGood(due, sent, now time.Duration) {
	f.mu.Lock()
	f.goodCount++
	f.recordLatency(now - due)
	f.lastGood = max(f.lastGood, now)
	record(f.lateness, sent-due)
	record(f.sinceSent, now-sent)
	f.mu.Unlock()
}

// recordLatency records a latency. The caller holds f.mu.
func (f *Figures) recordLatency(d time.Duration) {
	record(f.latency, d)
	if f.interval != nil {
		record(f.interval, d)
	}
	f.longestLatency = max(f.longestLatency, d)
}

// record adds a value to a histogram. A value outside the histogram's range is replaced by the nearest
// bound, so adding never fails.
func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(int64(min(max(d, minLatency), maxLatency) / time.Microsecond))
}

// countError counts an error.
func (f *Figures) countError(kind string) {
	f.mu.Lock()
	f.errorCounts[kind]++
	f.mu.Unlock()
}

// countUnsent counts a request that was due and never sent, and records its waiting time as a latency. Omitting
// such requests would hide the delays that a run with a rate is meant to show.
func (f *Figures) countUnsent(waited time.Duration) {
	f.mu.Lock()
	f.errorCounts["not sent in time"]++
	f.recordLatency(waited)
	f.mu.Unlock()
}

// Interval is the result of the time between two calls of NextInterval. Latencies are in milliseconds.
type Interval struct {
	Good   uint64
	Errors uint64
	P50    float64
	P99    float64
}

// NextInterval returns the results since its last call, and begins the next interval. The first call returns the counts since
// the run began, but no latencies.
func (f *Figures) NextInterval() Interval {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lost uint64
	for _, count := range f.errorCounts {
		lost += count
	}
	i := Interval{Good: f.goodCount - f.intervalGood, Errors: lost - f.intervalErrors}
	f.intervalGood, f.intervalErrors = f.goodCount, lost
	if f.interval == nil {
		f.interval = newHistogram()
		return i
	}
	i.P50, i.P99 = float64(f.interval.ValueAtQuantile(50))/1000, float64(f.interval.ValueAtQuantile(99))/1000
	f.interval.Reset()
	return i
}

// Good returns the number of good responses so far.
func (f *Figures) Good() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.goodCount
}

// Append adds the results of a later run, as if both were one run without the pause between them. The caller must not change
// other any more.
//
// length is the time in which the other run sent requests, without the wait for the last responses. The throughput is the
// number of good responses divided by the sum of these lengths. If the waits counted too, short runs would seem slower than
// long ones, because each run ends with a wait.
func (f *Figures) Append(other *Figures, length time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range [][2]*hdrhistogram.Histogram{{f.latency, other.latency}, {f.lateness, other.lateness}, {f.sinceSent, other.sinceSent}} {
		_ = h[0].Merge(h[1]) // Merge returns the number of values outside the range; there are none
	}
	f.goodCount += other.goodCount
	for kind, count := range other.errorCounts {
		f.errorCounts[kind] += count
	}
	f.longestLatency = max(f.longestLatency, other.longestLatency)
	f.lastGood += length
}

// Latency is a distribution in milliseconds.
type Latency struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
}

// Outcome is the result of a run. A response is good if it is the response that the workload expects.
type Outcome struct {
	Good         uint64            `json:"good"`    // number of good responses
	Seconds      float64           `json:"seconds"` // from the start of the run to the last good response; see Append
	PerSecond    float64           `json:"per_second"`
	Latency      Latency           `json:"latency_ms"`
	LateP99      float64           `json:"sent_late_p99_ms"`  // time from the due time of a request until it was sent
	SinceSentP99 float64           `json:"since_sent_p99_ms"` // time from sending a request to its good response
	Errors       map[string]uint64 `json:"errors"`            // by kind
}

// Outcome returns the results so far.
func (f *Figures) Outcome() Outcome {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := Outcome{
		Good: f.goodCount, Seconds: f.lastGood.Seconds(), Errors: maps.Clone(f.errorCounts),
		Latency:      distribution(f.latency, f.longestLatency),
		LateP99:      float64(f.lateness.ValueAtQuantile(99)) / 1000,
		SinceSentP99: float64(f.sinceSent.ValueAtQuantile(99)) / 1000,
	}
	if f.lastGood > 0 {
		o.PerSecond = float64(f.goodCount) / f.lastGood.Seconds()
	}
	return o
}

// distribution summarizes the latencies in a histogram. The longest latency is passed separately, because the
// histogram rounds it.
func distribution(h *hdrhistogram.Histogram, longest time.Duration) Latency {
	quantile := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1000 }
	return Latency{
		Mean: h.Mean() / 1000, P50: quantile(50), P90: quantile(90), P99: quantile(99), P999: quantile(99.9),
		Max: float64(longest.Microseconds()) / 1000,
	}
}

// String formats the distribution on one line.
func (l Latency) String() string {
	return fmt.Sprintf("p50 %.2f ms  p99 %.2f ms  p99.9 %.2f ms  max %.2f ms", l.P50, l.P99, l.P999, l.Max)
}

// FailedRequests returns the number of requests without a good response.
func (o *Outcome) FailedRequests() (n uint64) {
	for _, count := range o.Errors {
		n += count
	}
	return n
}

// ErrorText lists the errors by kind, the most frequent first.
func (o *Outcome) ErrorText() string {
	if len(o.Errors) == 0 {
		return "none"
	}
	kinds := slices.SortedFunc(maps.Keys(o.Errors), func(a, b string) int {
		if o.Errors[a] != o.Errors[b] {
			return int(o.Errors[b]) - int(o.Errors[a])
		}
		return strings.Compare(a, b)
	})
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s: %d", kind, o.Errors[kind])
	}
	return strings.Join(kinds, ", ")
}

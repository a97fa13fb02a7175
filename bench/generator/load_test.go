package generator

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// manualWatch is a stopwatch that the fake server of runAgainst advances.
type manualWatch struct{ now atomic.Int64 }

func (w *manualWatch) elapsed() time.Duration { return time.Duration(w.now.Load()) }

func (w *manualWatch) await(_ context.Context, due time.Duration) {
	w.now.Store(max(w.now.Load(), int64(due)))
}

// getJob sends the same request again and again.
type getJob struct{ unanswered atomic.Uint64 }

func (*getJob) Request(uint64) []byte { return []byte("GET / HTTP/1.1\r\n\r\n") }

func (*getJob) Check(_ uint64, a *Response) string {
	if a.Status != 200 {
		return "refused"
	}
	return ""
}

func (j *getJob) OnLost(uint64) { j.unanswered.Add(1) }

// runAgainst runs a load of one connection against a fake server. For request n, counted from 0, the server advances
// the stopwatch by serverTime(n) and responds. If serverTime(n) is negative, the server closes the connection
// instead.
func runAgainst(t *testing.T, l *Load, serverTime func(request int) time.Duration) (*getJob, Outcome) {
	t.Helper()
	watch, j := new(manualWatch), new(getJob)
	var requests atomic.Int64
	baseURL := serve(t, nil, func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			if _, err := readRequest(r); err != nil {
				return
			}
			d := serverTime(int(requests.Add(1)) - 1)
			if d < 0 {
				return
			}
			watch.now.Add(int64(d))
			if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
				return
			}
		}
	})
	d, err := NewDialer(baseURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.Dialer, l.watch, l.Figures = d, watch, NewFigures()
	l.NewJob = func() Job { return j }
	l.Connections, l.Timeout = 1, time.Hour
	if err := l.Run(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	return j, l.Figures.Outcome()
}

func steady(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

// almostEqual allows for the histogram's precision.
func almostEqual(got, want float64) bool { return got > want*0.998 && got < want*1.002 }

func TestClosedLoopMeasuresEachExchange(t *testing.T) {
	_, o := runAgainst(t, &Load{Duration: time.Second}, steady(100*time.Millisecond))
	if o.Good != 10 || o.FailedRequests() != 0 || !almostEqual(o.Latency.Max, 100) || !almostEqual(o.Latency.P50, 100) || !almostEqual(o.PerSecond, 10) {
		t.Errorf("%+v", o)
	}
}

func TestClosedLoopStopsAtItsLimit(t *testing.T) {
	_, o := runAgainst(t, &Load{Limit: 7}, steady(time.Millisecond))
	if o.Good != 7 || !almostEqual(o.Seconds, 0.007) {
		t.Errorf("%+v", o)
	}
}

// The rate is ten requests a second. The fifth request, which is due at 400 ms, takes a second. If latencies were measured from
// the sending, only this request would be slow. Measured from their due times, the ten requests due from 0.4 s to 1.3 s take
// 1000, 901, 802, … down to 109 ms.
func TestOpenLoopCountsWaitingDuringAStall(t *testing.T) {
	_, o := runAgainst(t, &Load{Rate: 10, Duration: 2 * time.Second}, func(request int) time.Duration {
		if request == 4 {
			return time.Second
		}
		return time.Millisecond
	})
	if o.Good != 20 || o.FailedRequests() != 0 {
		t.Fatalf("%+v", o)
	}
	sum := 0.0
	for i := range 20 {
		switch {
		case i >= 4 && i <= 13:
			sum += 1000 - 99*float64(i-4)
		case i == 14: // due at 1400 ms, the queue is empty at 1409 ms
			sum += 10
		default:
			sum++
		}
	}
	if want := sum / 20; !almostEqual(o.Latency.Mean, want) || !almostEqual(o.Latency.Max, 1000) || !almostEqual(o.Latency.P50, 10) {
		t.Errorf("mean %v, want %v; %+v", o.Latency.Mean, want, o.Latency)
	}
	if o.LateP99 < 800 {
		t.Errorf("sent late p99 = %v ms: the queue was in front of the only connection", o.LateP99)
	}
}

// The rate is a thousand a second for a second, and the server handles ten a second. The load continues
// for another second, and the 979 requests that were never sent are counted as errors, with their
// waiting times.
func TestOpenLoopCountsUnsentRequests(t *testing.T) {
	_, o := runAgainst(t, &Load{Rate: 1000, Duration: time.Second}, steady(100*time.Millisecond))
	if o.Good != 21 || o.Errors["not sent in time"] != 979 {
		t.Fatalf("%+v", o)
	}
	if o.Latency.P50 < 1000 || !almostEqual(o.Latency.Max, 2100-20) {
		t.Errorf("p50 %v ms, max %v ms: what was not sent has to count", o.Latency.P50, o.Latency.Max)
	}
}

func TestLoadContinuesAfterABrokenConnection(t *testing.T) {
	j, o := runAgainst(t, &Load{Limit: 9}, func(request int) time.Duration {
		if request%3 == 1 {
			return -1
		}
		return time.Millisecond
	})
	if o.Good != 6 || o.Errors["connection closed"] != 3 || j.unanswered.Load() != 3 {
		t.Errorf("%+v, %d unanswered", o, j.unanswered.Load())
	}
}

func TestLoadTimesOut(t *testing.T) {
	baseURL := serve(t, nil, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	d, err := NewDialer(baseURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	j := new(getJob)
	l := &Load{Dialer: d, NewJob: func() Job { return j }, Connections: 3, Limit: 3, Timeout: 20 * time.Millisecond, Figures: NewFigures()}
	if err := l.Run(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if o := l.Figures.Outcome(); o.Errors["time-out"] != 3 || j.unanswered.Load() != 3 {
		t.Errorf("%+v, %d unanswered", o, j.unanswered.Load())
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	baseURL := serve(t, nil, func(c net.Conn) {
		_, _ = readRequest(bufio.NewReader(c))
		cancel() // the server sends no response
		_, _ = io.Copy(io.Discard, c)
	})
	d, err := NewDialer(baseURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	j := new(getJob)
	l := &Load{Dialer: d, NewJob: func() Job { return j }, Connections: 4, Duration: time.Hour, Timeout: time.Hour, Figures: NewFigures()}
	if err := l.Run(ctx, 0); err != context.Canceled {
		t.Errorf("run = %v", err)
	}
}

func TestLoadsReuseOpenConnections(t *testing.T) {
	var accepted atomic.Int64
	baseURL := serve(t, nil, func(c net.Conn) {
		accepted.Add(1)
		respondByPath(c)
	})
	d, err := NewDialer(baseURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	open, err := OpenConnections(t.Context(), d, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for range 4 {
		l := &Load{Dialer: d, NewJob: func() Job { return new(getJob) }, Open: open, Limit: 30, Timeout: time.Minute, Figures: NewFigures()}
		if err := l.Run(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if o := l.Figures.Outcome(); o.Good != 30 || o.FailedRequests() != 0 {
			t.Errorf("%+v", o)
		}
	}
	if n := accepted.Load(); n != 3 {
		t.Errorf("%d connections were opened, want 3", n)
	}
}

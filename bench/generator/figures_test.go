package generator

import (
	"testing"
	"time"
)

// Neither the pause between two runs nor the wait for the last response counts: 2 requests in 1 s and 6 in 3 s are 2 a
// second, although each run lasts until its last response.
func TestAppendedRunsAreOneRun(t *testing.T) {
	total := NewFigures()
	for _, run := range []struct {
		requests int
		length   time.Duration
		kind     string
	}{{2, time.Second, "connect"}, {6, 3 * time.Second, "time-out"}, {0, 0, "time-out"}} {
		f := NewFigures()
		for i := range run.requests {
			began := time.Duration(i) * 600 * time.Millisecond
			f.CountGood(began, began+time.Millisecond, began+500*time.Millisecond)
		}
		f.countError(run.kind)
		total.Append(f, run.length)
	}
	o := total.Outcome()
	if o.Good != 8 || o.Seconds != 4 || o.PerSecond != 2 || o.Errors["connect"] != 1 || o.Errors["time-out"] != 2 {
		t.Errorf("%+v", o)
	}
	if !almostEqual(o.Latency.P50, 500) || !almostEqual(o.Latency.Max, 500) || !almostEqual(o.LateP99, 1) || !almostEqual(o.SinceSentP99, 499) {
		t.Errorf("%+v", o)
	}
}

func TestIntervalsDivideTheRun(t *testing.T) {
	f := NewFigures()
	if i := f.NextInterval(); i != (Interval{}) {
		t.Errorf("before the run: %+v", i)
	}
	for i := range 100 {
		f.CountGood(0, 0, time.Duration(i+1)*time.Millisecond)
	}
	f.countError("time-out")
	if i := f.NextInterval(); i.Good != 100 || i.Errors != 1 || !almostEqual(i.P50, 50) || !almostEqual(i.P99, 99) {
		t.Errorf("first interval: %+v", i)
	}
	f.CountGood(0, 0, 7*time.Millisecond)
	f.countError("time-out")
	f.countError("connect")
	if i := f.NextInterval(); i.Good != 1 || i.Errors != 2 || !almostEqual(i.P50, 7) || !almostEqual(i.P99, 7) {
		t.Errorf("second interval: %+v", i)
	}
	if i := f.NextInterval(); i != (Interval{}) {
		t.Errorf("nothing has happened: %+v", i)
	}
	if o := f.Outcome(); o.Good != 101 || o.FailedRequests() != 3 || f.Good() != 101 || !almostEqual(o.Latency.P99, 99) {
		t.Errorf("the run: %+v", o)
	}
}

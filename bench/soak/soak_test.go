package soak

import (
	"math"
	"testing"
	"time"
)

func TestRowsEndAtMultiplesOfTheInterval(t *testing.T) {
	s := NewRowSchedule(10 * time.Second)
	var ends []int
	for _, second := range []int{0, 9, 10, 11, 19, 23, 29, 30, 65, 69, 70} {
		if s.HasEnded(time.Duration(second) * time.Second) {
			ends = append(ends, second)
		}
	}
	// The sample at 23 is late and ends the row that should end at 20. The one at 65 ends the row that should end at 40.
	want := []int{10, 23, 30, 65, 70}
	if len(ends) != len(want) {
		t.Fatalf("%v, want %v", ends, want)
	}
	for k := range want {
		if ends[k] != want[k] {
			t.Errorf("%v, want %v", ends, want)
		}
	}
}

// The interval begins with one second, but even ten years have few rows.
func TestNumberOfRowsIsBounded(t *testing.T) {
	s := NewRowSchedule(time.Second)
	rows, now := 0, time.Duration(0)
	for now < 10*365*24*time.Hour {
		now = s.end
		if s.HasEnded(now) {
			rows++
		}
		if rows == RowsPerLength-1 && now != (RowsPerLength-1)*time.Second {
			t.Fatalf("row %d ends at %v", rows, now)
		}
	}
	if rows > 20*RowsPerLength {
		t.Errorf("%d rows", rows)
	}
}

// sampleAt returns a sample of a run that charges a hundred payments a second.
func sampleAt(second int, cpu time.Duration) Sample {
	return Sample{At: time.Duration(second) * time.Second, Payments: uint64(100 * second), CPU: cpu}
}

// For the first 20 s a payment takes 100 µs, then for 10 s 300 µs, and after that 200 µs.
func TestWorstWindowIsFound(t *testing.T) {
	var s Slider
	cpu := time.Duration(0)
	for second := range 61 {
		s.Add(sampleAt(second, cpu))
		if second == 9 && s.Windows() != nil {
			t.Error("a window of nine seconds")
		}
		perPayment := 200 * time.Microsecond
		switch {
		case second < 20:
			perPayment = 100 * time.Microsecond
		case second < 30:
			perPayment = 300 * time.Microsecond
		}
		cpu += 100 * perPayment
		if len(s.samples) > 11 {
			t.Fatalf("%d samples are kept", len(s.samples))
		}
	}
	w := s.Windows()
	if w == nil || w.First != (Window{0, 10, 1000, 100}) || w.Worst != (Window{20, 10, 1000, 300}) || math.Abs(w.Ratio-3) > 1e-9 {
		t.Errorf("%+v", w)
	}
}

// A window of ten seconds without a charged payment counts as the worst, however little CPU the server has used.
func TestWindowWithoutPaymentsIsNotSkipped(t *testing.T) {
	var s Slider
	s.Add(sampleAt(0, 0))
	s.Add(sampleAt(10, 100*time.Millisecond))
	stalled := sampleAt(10, 150*time.Millisecond)
	stalled.At = 20 * time.Second
	s.Add(stalled)
	if w := s.Windows(); w.Worst.Payments != 0 || w.Worst.CPU != 50_000 || w.Worst.Start != 10 {
		t.Errorf("%+v", w)
	}
}

func TestSamplesThatComeLateMakeALongerWindow(t *testing.T) {
	var s Slider
	for _, second := range []int{0, 4, 13} {
		s.Add(sampleAt(second, time.Duration(second)*10*time.Millisecond))
	}
	if w := s.Windows(); w == nil || w.First != (Window{0, 13, 1300, 100}) || w.Ratio != 1 {
		t.Errorf("%+v", w)
	}
}

package soak

import "time"

// WindowLength is the shortest time over which the CPU time of a payment is measured.
const WindowLength = 10 * time.Second

// Window is a part of a run over which the server's CPU time for a payment was measured.
type Window struct {
	Start    float64 `json:"start_seconds"` // seconds since the run began
	Seconds  float64 `json:"seconds"`
	Payments uint64  `json:"payments"`
	CPU      float64 `json:"cpu_us_per_payment"` // of the server; if there was no payment, all its CPU time in the window
}

// Windows contains the first window of a run, and the window in which a payment took the most CPU time.
type Windows struct {
	First Window  `json:"first"`
	Worst Window  `json:"worst"`
	Ratio float64 `json:"worst_to_first"` // CPU time of a payment in Worst divided by the CPU time in First
}

// Sample contains the totals from the beginning of the run to the instant At.
type Sample struct {
	At       time.Duration
	Payments uint64
	CPU      time.Duration // of the server
}

// Slider moves a window over the samples of a run, one sample at a time. It keeps only the samples of the current window.
type Slider struct {
	samples []Sample // oldest first; only the first may be older than WindowLength
	windows *Windows
}

// Add adds a sample. Samples must be added in the order of time. The first sample is the beginning of the run.
func (s *Slider) Add(sample Sample) {
	s.samples = append(s.samples, sample)
	oldest := 0
	for oldest+1 < len(s.samples) && sample.At-s.samples[oldest+1].At >= WindowLength {
		oldest++
	}
	s.samples = append(s.samples[:0], s.samples[oldest:]...)
	first := s.samples[0]
	if sample.At-first.At < WindowLength {
		return
	}
	w := Window{Start: first.At.Seconds(), Seconds: (sample.At - first.At).Seconds(), Payments: sample.Payments - first.Payments}
	w.CPU = float64(sample.CPU-first.CPU) / float64(time.Microsecond) / float64(max(w.Payments, 1))
	if s.windows == nil {
		s.windows = &Windows{First: w, Worst: w}
	} else if w.CPU > s.windows.Worst.CPU {
		s.windows.Worst = w
	}
	s.windows.Ratio = 0
	if s.windows.First.CPU > 0 {
		s.windows.Ratio = s.windows.Worst.CPU / s.windows.First.CPU
	}
}

// Windows returns the windows so far. If the run is still shorter than one window, it returns nil.
func (s *Slider) Windows() *Windows { return s.windows }

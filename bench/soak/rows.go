package soak

import "time"

// RowsPerLength is the number of rows after which the interval doubles. A run of ten million payments takes an hour or two. If
// the interval is a minute, such a run has far fewer rows.
const RowsPerLength = 2_000

// Row contains the figures of one interval of a run. If a figure could not be measured, its pointer is nil.
type Row struct {
	End       float64 `json:"end_seconds"` // seconds since the run began
	Seconds   float64 `json:"seconds"`     // length of the interval
	Charged   uint64  `json:"charged"`     // number of payments so far
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Errors    uint64  `json:"errors"` // in the interval

	CPU     *float64 `json:"cpu_us_per_payment,omitempty"`   // of the server
	Disk    int64    `json:"disk_bytes"`                     // space that the data directory occupies at the end of the interval
	Written *int64   `json:"written_bytes,omitempty"`        // by the server, since the start; counted by the kernel
	Device  *int64   `json:"device_written_bytes,omitempty"` // by all processes to the data directory's device, since the start
	Anon    *int64   `json:"anonymous_bytes,omitempty"`      // memory of the server at the end of the interval
}

// RowSchedule determines when a row ends.
type RowSchedule struct {
	length time.Duration // length of the current row
	end    time.Duration // end of the current row, since the run began
	rows   int           // number of rows that have ended so far
}

// NewRowSchedule returns a schedule whose first RowsPerLength rows have the given length.
func NewRowSchedule(length time.Duration) *RowSchedule {
	return &RowSchedule{length: length, end: length}
}

// HasEnded returns whether the current row has ended by the time now. If the row has ended, HasEnded begins the next row.
func (s *RowSchedule) HasEnded(now time.Duration) bool {
	if now < s.end {
		return false
	}
	if s.rows++; s.rows%RowsPerLength == 0 {
		s.length *= 2
	}
	s.end = max(s.end, now-now%s.length) + s.length // computed from now, so that one late sample does not end two rows
	return true
}

// Length returns the length of the current row.
func (s *RowSchedule) Length() time.Duration { return s.length }

package tracing

import "time"

// Kind tells what this process does in a hop: it serves a request, calls another program, or works internally. The zero value
// is invalid.
type Kind uint8

// Kinds of hops.
const (
	Server   Kind = iota + 1 // this process handles a request
	Client                   // this process waits for another program's answer
	Internal                 // this process works on its own
)

// Backend makes spans. It must be safe for concurrent use.
type Backend interface {
	// Begin begins a span at the given time. If parent has no trace, the span begins a new trace. If the span also does work
	// for other requests, links are the origins of these requests.
	Begin(kind Kind, name string, parent Origin, at time.Time, links []Origin) Span
}

// Span is a recorded hop. Only one goroutine at a time uses a Span.
type Span interface {
	// Origin returns a copy of parent with the Trace, Span and Flags of this span.
	Origin(parent Origin) Origin
	SetName(name string)
	SetText(key, value string)
	SetNumber(key string, value int64)
	// Fail marks the span as failed. People read the reason. The reason must contain no part of a request.
	Fail(reason string)
	End(at time.Time)
}

// Tracer records hops. A nil *Tracer records no hops.
type Tracer struct{ backend Backend }

// New makes a tracer that records each hop as a span of the backend.
func New(b Backend) *Tracer { return &Tracer{backend: b} }

// Hop records a hop while it lasts. If hops are not recorded, a Hop is the zero value, and its methods do nothing.
type Hop struct{ span Span }

// Begin begins a hop now. parent identifies the request that caused the hop.
func (t *Tracer) Begin(kind Kind, name string, parent Origin) Hop {
	if t == nil {
		return Hop{}
	}
	return Hop{t.backend.Begin(kind, name, parent, time.Now(), nil)}
}

// BeginAt begins a hop at the given time, which may be in the past. If the hop also does work for other requests, links are the
// origins of these requests.
func (t *Tracer) BeginAt(kind Kind, name string, parent Origin, at time.Time, links []Origin) Hop {
	if t == nil {
		return Hop{}
	}
	return Hop{t.backend.Begin(kind, name, parent, at, links)}
}

// IsRecorded tells whether the hop is recorded. If the hop is not recorded, callers need not compute its attributes.
func (h Hop) IsRecorded() bool { return h.span != nil }

// Origin returns the origin for work that the hop causes: a copy of parent in which the hop's span is the cause of the work.
func (h Hop) Origin(parent Origin) Origin {
	if h.span == nil {
		return parent
	}
	return h.span.Origin(parent)
}

// SetName replaces the hop's name.
func (h Hop) SetName(name string) {
	if h.span != nil {
		h.span.SetName(name)
	}
}

// SetText sets an attribute of the hop to a text.
func (h Hop) SetText(key, value string) {
	if h.span != nil {
		h.span.SetText(key, value)
	}
}

// SetNumber sets an attribute of the hop to a number.
func (h Hop) SetNumber(key string, value int64) {
	if h.span != nil {
		h.span.SetNumber(key, value)
	}
}

// Fail marks the hop as failed. The reason must contain no part of a request. If the reason is empty, Fail does nothing.
func (h Hop) Fail(reason string) {
	if h.span != nil && reason != "" {
		h.span.Fail(reason)
	}
}

// End ends the hop now.
func (h Hop) End() {
	if h.span != nil {
		h.span.End(time.Now())
	}
}

// EndAt ends the hop at the given time.
func (h Hop) EndAt(at time.Time) {
	if h.span != nil {
		h.span.End(at)
	}
}

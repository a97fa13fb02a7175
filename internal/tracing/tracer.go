package tracing

import "time"

// Kind tells whether this process serves, calls or works internally in a hop. The zero value is invalid.
type Kind uint8

// Kinds of hops.
const (
	Server   Kind = iota + 1 // this process handles a request
	Client                   // this process waits for another program's answer
	Internal                 // this process works internally
)

// Backend makes spans. Its methods may be called by any number of goroutines.
type Backend interface {
	// Begin begins a span at the given time. If parent has no trace, the span begins a new trace. links are the origins of
	// other requests whose work the span also does.
	Begin(kind Kind, name string, parent Origin, at time.Time, links []Origin) Span
}

// Span is one recorded hop. Only one goroutine uses it at a time.
type Span interface {
	// Origin returns parent with the id of this span as the causing span, and with this span's trace.
	Origin(parent Origin) Origin
	SetName(name string)
	SetText(key, value string)
	SetNumber(key string, value int64)
	// Fail marks the span as failed. The reason is for people. It must contain no part of a request.
	Fail(reason string)
	End(at time.Time)
}

// Tracer records hops. A nil *Tracer records none.
type Tracer struct{ backend Backend }

// New makes a tracer that records hops as spans of the backend.
func New(b Backend) *Tracer { return &Tracer{backend: b} }

// Hop is a hop that may be recorded. The methods of the zero value do nothing.
type Hop struct{ span Span }

// Begin begins a hop now. parent is the origin of the work.
func (t *Tracer) Begin(kind Kind, name string, parent Origin) Hop {
	if t == nil {
		return Hop{}
	}
	return Hop{t.backend.Begin(kind, name, parent, time.Now(), nil)}
}

// BeginAt begins a hop at the given time, which may be earlier than now. links are the origins of other requests whose work
// the hop also does.
func (t *Tracer) BeginAt(kind Kind, name string, parent Origin, at time.Time, links []Origin) Hop {
	if t == nil {
		return Hop{}
	}
	return Hop{t.backend.Begin(kind, name, parent, at, links)}
}

// IsRecorded tells whether the hop is recorded. If not, callers need not compute its attributes.
func (h Hop) IsRecorded() bool { return h.span != nil }

// Origin returns the origin to pass on to work that the hop causes: parent, with the hop's span as the causing span.
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

package tracing

import "time"

// Kind is the side of an exchange on which a hop is. The zero value is invalid.
type Kind uint8

// The kinds of hops.
const (
	Server   Kind = iota + 1 // a request that is handled here
	Client                   // a call that waits for another program's answer
	Internal                 // work inside this process
)

// Backend makes spans. Its methods may be called by any number of goroutines.
type Backend interface {
	// Begin begins a span at a time. Without a trace in parent the span begins a trace of its own. links are the origins of
	// further work that the span belongs to.
	Begin(kind Kind, name string, parent Origin, at time.Time, links []Origin) Span
}

// Span is one recorded hop. Only one goroutine uses it at a time.
type Span interface {
	// Origin returns the parent's origin with this span in place of the parent's span.
	Origin(parent Origin) Origin
	SetName(name string)
	SetText(key, value string)
	SetNumber(key string, value int64)
	// Fail marks the span as failed. The reason is for people, and contains nothing of a request.
	Fail(reason string)
	End(at time.Time)
}

// Tracer records hops. A nil *Tracer records none.
type Tracer struct{ backend Backend }

// New makes a tracer.
func New(b Backend) *Tracer { return &Tracer{backend: b} }

// Hop is a hop that may be recorded. The methods of the zero value do nothing.
type Hop struct{ span Span }

// Begin begins a hop now.
func (t *Tracer) Begin(kind Kind, name string, parent Origin) Hop {
	if t == nil {
		return Hop{}
	}
	return Hop{t.backend.Begin(kind, name, parent, time.Now(), nil)}
}

// BeginAt begins a hop that has begun already, at the given time, with links to other work.
func (t *Tracer) BeginAt(kind Kind, name string, parent Origin, at time.Time, links []Origin) Hop {
	if t == nil {
		return Hop{}
	}
	return Hop{t.backend.Begin(kind, name, parent, at, links)}
}

// IsRecorded tells whether the hop is recorded, so that callers need not prepare what nobody reads.
func (h Hop) IsRecorded() bool { return h.span != nil }

// Origin returns the origin of what the hop causes: that of the hop itself, with the hop as the causing span.
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

// SetText sets an attribute.
func (h Hop) SetText(key, value string) {
	if h.span != nil {
		h.span.SetText(key, value)
	}
}

// SetNumber sets an attribute.
func (h Hop) SetNumber(key string, value int64) {
	if h.span != nil {
		h.span.SetNumber(key, value)
	}
}

// Fail marks the hop as failed, for a reason that contains nothing of a request. An empty reason does nothing.
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

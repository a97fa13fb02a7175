package tracing

import (
	"context"
	"encoding/hex"

	"github.com/google/uuid"
)

// Origin identifies the request that caused some work. The zero value means that no request did.
type Origin struct {
	Request uuid.UUID // the request's id (response header x-request-id); zero: none
	Trace   [16]byte  // trace-id of W3C Trace Context; zero: the work belongs to no trace
	Span    [8]byte   // id of the span that caused the work
	Flags   byte      // trace-flags
}

// IsZero tells whether no request caused the work.
func (o *Origin) IsZero() bool { return *o == Origin{} }

// HasRequest tells whether the request's id is known.
func (o *Origin) HasRequest() bool { return o.Request != uuid.Nil }

// HasTrace tells whether the work belongs to a trace.
func (o *Origin) HasTrace() bool { return o.Trace != [16]byte{} }

// Names of the headers that pass an origin on.
const (
	RequestIDHeader   = "X-Request-Id"
	TraceparentHeader = "Traceparent"
)

// traceparentSize is the length of a traceparent of version 00, the only version that is written.
const traceparentSize = 2 + 1 + 32 + 1 + 16 + 1 + 2

// knownFlags are the trace-flags that W3C Trace Context defines: sampled and random.
const knownFlags = 3

// SetTraceparent takes the trace from the value of a traceparent header. It ignores a value that is malformed.
func (o *Origin) SetTraceparent(header []byte) {
	var parsed Origin
	var version, flags [1]byte
	wellFormed := len(header) >= traceparentSize && header[2] == '-' && header[35] == '-' && header[52] == '-' &&
		decodeHex(version[:], header[:2]) && version[0] != 0xff &&
		(len(header) == traceparentSize || version[0] > 0 && header[traceparentSize] == '-') &&
		decodeHex(parsed.Trace[:], header[3:35]) && decodeHex(parsed.Span[:], header[36:52]) && decodeHex(flags[:], header[53:55])
	if wellFormed && parsed.HasTrace() && parsed.Span != [8]byte{} {
		o.Trace, o.Span, o.Flags = parsed.Trace, parsed.Span, flags[0]&knownFlags
	}
}

// decodeHex decodes lower-case hexadecimal digits; false if there are others.
func decodeHex(dst, digits []byte) bool {
	for _, c := range digits {
		if 'A' <= c && c <= 'F' {
			return false
		}
	}
	_, err := hex.Decode(dst, digits)
	return err == nil
}

// AppendTraceparent appends the value of the header traceparent. It must only be called if HasTrace is true.
func (o *Origin) AppendTraceparent(dst []byte) []byte {
	dst = hex.AppendEncode(append(dst, "00-"...), o.Trace[:])
	dst = hex.AppendEncode(append(dst, '-'), o.Span[:])
	return hex.AppendEncode(append(dst, '-'), []byte{o.Flags})
}

// Traceparent returns the value of the header traceparent; empty if the work belongs to no trace.
func (o *Origin) Traceparent() string {
	if !o.HasTrace() {
		return ""
	}
	return string(o.AppendTraceparent(make([]byte, 0, traceparentSize)))
}

// contextKey is the type of ContextKey.
type contextKey struct{}

// ContextKey is the key under which a context has a *Origin.
var ContextKey any = contextKey{}

// WithOrigin returns a context with an origin.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, ContextKey, &o)
}

// FromContext returns a context's origin; the zero value if it has none.
func FromContext(ctx context.Context) Origin {
	if o, found := ctx.Value(ContextKey).(*Origin); found {
		return *o
	}
	return Origin{}
}

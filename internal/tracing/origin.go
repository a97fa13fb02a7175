package tracing

import (
	"context"
	"encoding/hex"

	"github.com/google/uuid"
)

// Origin identifies the request that caused some work. The zero value means that no request did.
type Origin struct {
	Request uuid.UUID // the request's id, which the response has in x-request-id; zero if there was no request
	Trace   [16]byte  // trace-id of W3C Trace Context; zero: the work belongs to no trace
	Span    [8]byte   // id of the span that caused the work
	Flags   byte      // trace-flags of W3C Trace Context
}

// IsZero tells whether no request caused the work.
func (o *Origin) IsZero() bool { return *o == Origin{} }

// HasRequest tells whether the request's id is known.
func (o *Origin) HasRequest() bool { return o.Request != uuid.Nil }

// HasTrace tells whether the work belongs to a trace.
func (o *Origin) HasTrace() bool { return o.Trace != [16]byte{} }

// Names of the headers that carry an origin from one program to another.
const (
	RequestIDHeader   = "X-Request-Id"
	TraceparentHeader = "Traceparent"
)

// traceparentSize is the length in bytes of a traceparent of version 00. This package writes no other version.
const traceparentSize = 2 + 1 + 32 + 1 + 16 + 1 + 2

// knownFlags are the trace-flags that W3C Trace Context defines: sampled and random.
const knownFlags = 3

// SetTraceparent sets the trace from the value of a traceparent header. If the value is malformed, SetTraceparent does
// nothing.
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

// decodeHex decodes lower-case hexadecimal digits into dst. It returns false if there are other characters.
func decodeHex(dst, digits []byte) bool {
	for _, c := range digits {
		if 'A' <= c && c <= 'F' {
			return false
		}
	}
	_, err := hex.Decode(dst, digits)
	return err == nil
}

// AppendTraceparent appends the value of the traceparent header to dst. It must only be called if HasTrace returns true.
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

// WithOrigin returns a context that holds the origin.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, ContextKey, &o)
}

// FromContext returns the origin that the context holds, or the zero value if it holds none.
func FromContext(ctx context.Context) Origin {
	if o, found := ctx.Value(ContextKey).(*Origin); found {
		return *o
	}
	return Origin{}
}

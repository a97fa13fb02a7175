package tracing

import (
	"context"
	"encoding/hex"

	"github.com/google/uuid"
)

// Origin identifies the request that caused some work. The zero value means that no request caused the work.
type Origin struct {
	Request uuid.UUID // id of the request, as in the response's header x-request-id; zero if there was no request
	Trace   [16]byte  // trace-id of W3C Trace Context; zero if the work belongs to no trace
	Span    [8]byte   // id of the span that caused the work
	Flags   byte      // trace-flags of W3C Trace Context
}

// IsZero tells whether the origin is the zero value, so no request caused the work.
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

// traceparentSize is the length in bytes of a traceparent header of version 00, the only version that this package writes.
const traceparentSize = 2 + 1 + 32 + 1 + 16 + 1 + 2

// knownFlags are the trace-flags that W3C Trace Context defines: sampled and random.
const knownFlags = 3

// SetTraceparent sets the fields Trace, Span and Flags from the value of a traceparent header. If the value is malformed,
// SetTraceparent does nothing.
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

// decodeHex decodes lower-case hexadecimal digits into dst. If digits contains any other character, decodeHex returns false.
func decodeHex(dst, digits []byte) bool {
	for _, c := range digits {
		if 'A' <= c && c <= 'F' {
			return false
		}
	}
	_, err := hex.Decode(dst, digits)
	return err == nil
}

// AppendTraceparent appends the value of the traceparent header to dst. Call AppendTraceparent only if HasTrace returns true.
func (o *Origin) AppendTraceparent(dst []byte) []byte {
	dst = hex.AppendEncode(append(dst, "00-"...), o.Trace[:])
	dst = hex.AppendEncode(append(dst, '-'), o.Span[:])
	return hex.AppendEncode(append(dst, '-'), []byte{o.Flags})
}

// Traceparent returns the value of the header traceparent. If the work belongs to no trace, it returns an empty string.
func (o *Origin) Traceparent() string {
	if !o.HasTrace() {
		return ""
	}
	return string(o.AppendTraceparent(make([]byte, 0, traceparentSize)))
}

// contextKey is the type of ContextKey.
type contextKey struct{}

// ContextKey is the key of the *Origin in a context.
var ContextKey any = contextKey{}

// WithOrigin returns a copy of ctx that carries the origin.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, ContextKey, &o)
}

// FromContext returns the origin that the context carries, or the zero value if there is none.
func FromContext(ctx context.Context) Origin {
	if o, found := ctx.Value(ContextKey).(*Origin); found {
		return *o
	}
	return Origin{}
}

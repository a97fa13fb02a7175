// Package tracing identifies the request that caused some work, and records how long each hop of the work took. A hop is one
// of these: a request that the API handles, a call of a provider, an attempt to send a notification, or the sync of a group
// (the changes that become durable together).
//
// Invariants:
//  1. An Origin (the identity of the request) holds identifiers only. It holds no part of the request's body, query or
//     credentials.
//  2. A malformed trace context is treated as absent, so a trace context that is passed on is always well-formed.
//  3. A nil *Tracer records nothing, allocates nothing and reads no clock.
//  4. Origins are kept in memory only, so they never make a stored row longer. The number of origins that are kept for work
//     after the response to its request is bounded.
//
// Callers: api makes origins; actors and the notifier pass them on; cmd/mizan makes the Tracer. Only the Tracer's backend,
// package otlp, depends on OpenTelemetry.
//
// Rejected: another design would use OpenTelemetry's own types everywhere. It was not chosen because actors would have to
// pass a context.Context with a span in their messages, and because even a span that records nothing allocates memory. A
// design with origins in stored records was not chosen because each payment would need more space for them, although they
// help only in the minutes after the request.
package tracing

// Package tracing identifies the request that caused some work, and records how long each hop of the work took. A hop is a
// request that the API handles, a call of a provider, an attempt to send a notification, or the sync of a group (changes that
// become durable together).
//
// Invariants:
//  1. An Origin (the identity of the request) has only identifiers. It has no part of the request's body, query or credentials.
//  2. If a request has a malformed trace context, the trace context is ignored. So the service never passes on a malformed
//     trace context.
//  3. If a *Tracer is nil, its methods record nothing, allocate nothing and read no clock.
//  4. Origins are never stored, so they need no space in stored rows. If work continues after the response to its request, the
//     origin is kept in memory. The number of such origins is bounded.
//
// Callers: api makes origins; actors and the notifier pass them on; cmd/mizan makes the Tracer. Only the Tracer's backend,
// package otlp, depends on OpenTelemetry.
//
// Rejected: All packages could use OpenTelemetry's own types. But then actors would have to pass a context.Context with a span
// in their messages, and even a span that records nothing allocates memory. Origins could be stored in records. But then each
// payment would need more space, although an origin helps only in the minutes after the request.
package tracing

// Package tracing identifies the request that caused some work, and records how long each hop of the work took. A hop is a
// request that the API handles, a call of a provider, an attempt to notify somebody, or the sync of a group.
//
// Invariants:
//  1. An Origin holds identifiers only: nothing of a request's body, query or credentials.
//  2. A trace context that is malformed counts as absent, so what is passed on is always well-formed.
//  3. A nil *Tracer records nothing, allocates nothing and reads no clock.
//  4. Origins are kept in memory only, so they never make a stored row longer. Memory bounds how many are kept for work
//     that goes on after its request was answered.
//
// Callers: api makes origins; actors and the notifier pass them on; cmd/mizan makes the Tracer, with the backend of package
// otlp. Only that backend depends on OpenTelemetry.
//
// Rejected: OpenTelemetry's own types everywhere. A context.Context with a span would have to go through actors' messages,
// and even a span that records nothing allocates. Also rejected: origins in stored records, because each payment would pay
// for them, and they help only in the minutes after the request.
package tracing

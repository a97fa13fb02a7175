// Package otlptest is a small receiver of traces for tests. It accepts the spans (timed steps of a request)
// that an exporter sends by OTLP over HTTP, and lets a test wait for spans.
//
// Callers: tests of internal/tracing/otlp and of cmd/mizan.
//
// Rejected: OpenTelemetry's in-memory exporter was considered; it was not chosen because it would not test what is really
// sent over HTTP.
package otlptest

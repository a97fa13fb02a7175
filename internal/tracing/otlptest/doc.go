// Package otlptest has a small receiver of traces for tests. The receiver accepts the spans (timed steps of a request) that an
// exporter sends by OTLP over HTTP. A test can wait for spans.
//
// Callers: tests of internal/tracing/otlp and of cmd/mizan.
//
// Rejected: Tests with OpenTelemetry's in-memory exporter would not see what is really sent over HTTP.
package otlptest

// Package otlptest is a small receiver of traces for tests: it accepts what an exporter sends by OTLP over HTTP, and lets a
// test wait for spans.
//
// Callers: tests of internal/tracing/otlp and of cmd/mizan; never the product.
//
// Rejected: OpenTelemetry's exporter into memory. It would not show what is really sent.
package otlptest

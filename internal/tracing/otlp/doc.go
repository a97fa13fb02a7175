// Package otlp sends spans (the timings of requests that package tracing records) to an OpenTelemetry collector, by
// OTLP over HTTP.
//
// Invariants:
//  1. Spans are recorded and sent only if the environment variable OTEL_EXPORTER_OTLP_ENDPOINT is set.
//  2. OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_BSP_* and other
//     environment variables have the meaning that OpenTelemetry's specification gives them.
//  3. Spans wait in a bounded queue. If the queue is full, new spans are dropped. So no request is delayed if the collector is
//     slow or not running.
//  4. A span contains only these parts of a request: the name of the route, numbers, and identifiers.
//
// Callers: cmd/mizan.
//
// Rejected: Spans could be sent by gRPC. But collectors also accept HTTP, and HTTP needs no second network stack in the
// process. OpenTelemetry's instrumentation of Fiber could make the spans of requests. But it is out of date, and package api
// needs only one span per request, which it makes itself.
package otlp

// Package otlp sends spans (the timings of requests that package tracing records) to an OpenTelemetry collector, by
// OTLP over HTTP.
//
// Invariants:
//  1. Spans are recorded and sent only if the environment variable OTEL_EXPORTER_OTLP_ENDPOINT is set.
//  2. The variables of OpenTelemetry's specification have their usual meaning: OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME,
//     OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_BSP_* and others.
//  3. Spans wait in a bounded queue, and spans that do not fit are dropped. So a collector that is slow or not running delays
//     no request.
//  4. Of a request, a span has only the name of the route, numbers, and identifiers.
//
// Callers: cmd/mizan.
//
// Rejected: one design would use gRPC as the transport. It was not chosen because collectors accept HTTP too, which needs no
// second network stack in the process. Another design would use OpenTelemetry's instrumentation of Fiber. It was not chosen
// because the instrumentation is out of date, and package api needs only one span per request, which it makes itself.
package otlp

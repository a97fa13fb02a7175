// Package otlp is the backend of package tracing that sends spans to an OpenTelemetry collector, by OTLP over HTTP.
//
// Invariants:
//  1. Nothing is made unless the environment variable OTEL_EXPORTER_OTLP_ENDPOINT is set.
//  2. The variables of OpenTelemetry's specification have their usual meaning: OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME,
//     OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_BSP_* and others.
//  3. Spans wait in a bounded queue. A collector that is slow or absent delays nothing: the spans that do not fit are dropped.
//  4. A span has names of routes, numbers and identifiers, and nothing else of a request.
//
// Callers: cmd/mizan, which is the only importer.
//
// Rejected: gRPC as the transport. Collectors accept HTTP too, and it needs no second network stack in the process. Also
// rejected: OpenTelemetry's instrumentation of Fiber, which is stale; package api begins the one span that it makes itself.
package otlp

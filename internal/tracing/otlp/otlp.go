package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"mizan/internal/tracing"
)

// Environment variables that this package reads itself. The OpenTelemetry library reads all other variables of OpenTelemetry.
const (
	EndpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"
	protocolVariable = "OTEL_EXPORTER_OTLP_PROTOCOL"
)

// protocol is the only OTLP protocol that this package supports.
const protocol = "http/protobuf"

// serviceName is the default name of the service in traces. Environment variables may set a different name.
const serviceName = "mizan"

// failureInterval is the minimum time between two log lines that say that spans cannot be sent.
const failureInterval = time.Minute

// IsConfigured tells whether the environment variables name a collector. If they name a collector, but have values that cannot
// be used, the error says why.
func IsConfigured() (bool, error) {
	endpoint := os.Getenv(EndpointVariable)
	if endpoint == "" {
		return false, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		// The error does not quote the address, because it may contain a password.
		return false, errors.New(EndpointVariable + " is not an http:// or https:// address")
	}
	if p := os.Getenv(protocolVariable); p != "" && p != protocol {
		return false, fmt.Errorf("%s: %q is not %s", protocolVariable, p, protocol)
	}
	return true, nil
}

// Exporter sends spans to the collector that the environment variables name.
type Exporter struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

var _ tracing.Backend = (*Exporter)(nil)

// Open makes an exporter. version is the version of this program. If spans cannot be sent, the exporter writes a line to the
// log, at most once a minute.
func Open(ctx context.Context, version string, log *slog.Logger) (*Exporter, error) {
	limit := rate.Sometimes{Interval: failureInterval}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		limit.Do(func() { log.Warn("traces cannot be sent", "error", err) })
	}))
	client, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	described, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", serviceName), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv(), // environment variables override the service's name
	)
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(client), sdktrace.WithResource(described))
	return &Exporter{provider: provider, tracer: provider.Tracer(serviceName)}, nil
}

// Close sends the spans that still wait in the queue. If ctx ends first, Close returns an error, and the spans are lost.
func (e *Exporter) Close(ctx context.Context) error { return e.provider.Shutdown(ctx) }

// kinds maps each kind of hop to OpenTelemetry's kind of span.
var kinds = map[tracing.Kind]trace.SpanKind{
	tracing.Server: trace.SpanKindServer, tracing.Client: trace.SpanKindClient, tracing.Internal: trace.SpanKindInternal,
}

// Begin implements tracing.Backend.
func (e *Exporter) Begin(kind tracing.Kind, name string, parent tracing.Origin, at time.Time, links []tracing.Origin) tracing.Span {
	ctx := context.Background()
	if parent.HasTrace() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, contextOf(parent))
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(kinds[kind]), trace.WithTimestamp(at)}
	for _, l := range links {
		if l.HasTrace() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: contextOf(l)}))
		}
	}
	_, s := e.tracer.Start(ctx, name, options...)
	if parent.HasRequest() && s.IsRecording() {
		s.SetAttributes(attribute.String("mizan.request_id", parent.Request.String()))
	}
	return span{s}
}

func contextOf(o tracing.Origin) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: o.Trace, SpanID: o.Span, TraceFlags: trace.TraceFlags(o.Flags), Remote: true})
}

// span implements tracing.Span.
type span struct{ span trace.Span }

// Origin implements tracing.Span.
func (s span) Origin(parent tracing.Origin) tracing.Origin {
	c := s.span.SpanContext()
	parent.Trace, parent.Span, parent.Flags = c.TraceID(), c.SpanID(), byte(c.TraceFlags())
	return parent
}

// SetName implements tracing.Span.
func (s span) SetName(name string) { s.span.SetName(name) }

// SetText implements tracing.Span.
func (s span) SetText(key, value string) { s.span.SetAttributes(attribute.String(key, value)) }

// SetNumber implements tracing.Span.
func (s span) SetNumber(key string, value int64) { s.span.SetAttributes(attribute.Int64(key, value)) }

// Fail implements tracing.Span.
func (s span) Fail(reason string) { s.span.SetStatus(codes.Error, reason) }

// End implements tracing.Span.
func (s span) End(at time.Time) { s.span.End(trace.WithTimestamp(at)) }

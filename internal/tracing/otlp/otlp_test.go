package otlp_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/tracing"
	"mizan/internal/tracing/otlp"
	"mizan/internal/tracing/otlptest"
)

func TestSpansArriveWithParentsLinksAndAttributes(t *testing.T) {
	receiver := otlptest.Start(t)
	t.Setenv(otlp.EndpointVariable, receiver.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=value-of-a-header")
	exporter, err := otlp.Open(t.Context(), "v1.2.3", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	tracer := tracing.New(exporter)
	parent := tracing.Origin{Request: uuid.UUID{7}}
	parent.SetTraceparent([]byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
	began := time.Now().Add(-time.Second)
	hop := tracer.BeginAt(tracing.Server, "request", parent, began, nil)
	inner := tracer.Begin(tracing.Client, "call", hop.Origin(parent))
	inner.SetText("provider", "simulator")
	inner.SetNumber("attempt", 2)
	inner.Fail("it did not answer")
	inner.End()
	hop.SetName("POST /x")
	hop.End()
	group := tracer.BeginAt(tracing.Internal, "group sync", tracing.Origin{}, began, []tracing.Origin{hop.Origin(parent), {}})
	group.EndAt(began.Add(time.Millisecond))
	if err := exporter.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]otlptest.Span)
	for _, s := range receiver.Wait(t, func(s []otlptest.Span) bool { return len(s) == 3 }) {
		byName[s.Name] = s
	}
	request, call, sync := byName["POST /x"], byName["call"], byName["group sync"]
	if request.Trace != "4bf92f3577b34da6a3ce929d0e0e4736" || request.Parent != "00f067aa0ba902b7" || request.Kind != "SPAN_KIND_SERVER" || request.End.Sub(request.Begin) < time.Second {
		t.Errorf("the request's span is %+v", request)
	}
	if call.Trace != request.Trace || call.Parent != request.ID || call.Kind != "SPAN_KIND_CLIENT" || call.Failure != "it did not answer" ||
		call.Attributes["provider"] != "simulator" || call.Attributes["attempt"] != "2" || call.Attributes["mizan.request_id"] != parent.Request.String() {
		t.Errorf("the call's span is %+v", call)
	}
	if sync.Trace == request.Trace || sync.Parent != "" || len(sync.Links) != 1 || sync.Links[0] != request.ID || sync.End.Sub(sync.Begin) != time.Millisecond {
		t.Errorf("the group's span is %+v", sync)
	}
	if request.Resource["service.name"] != "mizan" || request.Resource["service.version"] != "v1.2.3" || request.RequestHeader.Get("Api-Key") != "value-of-a-header" {
		t.Errorf("the process is %v, headers %v", request.Resource, request.RequestHeader)
	}
}

// If the caller's traceparent says that the trace is not sampled, no span is recorded. The traceparent is still passed on.
func TestUnsampledTraceIsPassedOnAndNotRecorded(t *testing.T) {
	receiver := otlptest.Start(t)
	t.Setenv(otlp.EndpointVariable, receiver.URL)
	exporter, err := otlp.Open(t.Context(), "v1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var parent tracing.Origin
	parent.SetTraceparent([]byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"))
	hop := tracing.New(exporter).Begin(tracing.Server, "request", parent)
	if o := hop.Origin(parent); o.Trace != parent.Trace || o.Flags&1 != 0 {
		t.Errorf("passed on: %s", o.Traceparent())
	}
	hop.End()
	if err := exporter.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if spans := receiver.Spans(); len(spans) != 0 {
		t.Errorf("%d spans arrived", len(spans))
	}
}

func TestAbsentCollectorDelaysNothingAndIsLogged(t *testing.T) {
	var written bytes.Buffer
	t.Setenv(otlp.EndpointVariable, "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100")
	exporter, err := otlp.Open(t.Context(), "v1", slog.New(slog.NewTextHandler(&written, nil)))
	if err != nil {
		t.Fatal(err)
	}
	tracer := tracing.New(exporter)
	for range 10_000 { // more spans than the queue holds
		tracer.Begin(tracing.Server, "request", tracing.Origin{}).End()
	}
	_ = exporter.Close(t.Context()) // Close also reports that spans could not be sent
	if n := strings.Count(written.String(), "traces cannot be sent"); n != 1 {
		t.Errorf("%d lines in the log: %s", n, written.String())
	}
}

func TestSettingsThatCannotBeUsedAreRefused(t *testing.T) {
	for _, c := range []struct {
		endpoint, protocol string
		configured, wrong  bool
	}{
		{"", "grpc", false, false},
		{"http://127.0.0.1:4318", "", true, false},
		{"https://collector.example/otlp", "http/protobuf", true, false},
		{"https://collector.example", "grpc", false, true},
		{"collector.example:4318", "", false, true},
		{"ftp://u:CANARY@collector.example", "", false, true},
	} {
		t.Setenv(otlp.EndpointVariable, c.endpoint)
		t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", c.protocol)
		configured, err := otlp.IsConfigured()
		if configured != c.configured || (err != nil) != c.wrong || err != nil && strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%q by %q: %v, %v", c.endpoint, c.protocol, configured, err)
		}
	}
}

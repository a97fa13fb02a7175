package otlptest

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// patience is the maximum time that a test waits for spans. Exporters send spans every few seconds.
const patience = time.Minute

// tracesPath is the URL path to which exporters send spans. Exporters append the path to the configured address.
const tracesPath = "/v1/traces"

// Span is a received span.
type Span struct {
	Name, Kind    string
	Trace, ID     string
	Parent        string // id of the parent span; empty if the span began its trace
	Attributes    map[string]string
	Links         []string // ids of linked spans
	Failure       string
	Begin, End    time.Time
	Resource      map[string]string // attributes of the process that sent the span
	RequestHeader http.Header       // header of the request with which the span was sent
}

// Receiver receives spans from exporters. It is safe for concurrent use.
type Receiver struct {
	URL string // address of the receiver, the value for OTEL_EXPORTER_OTLP_ENDPOINT

	mu      sync.Mutex
	spans   []Span        // guarded by mu
	arrived chan struct{} // has a value if spans have arrived since the last wait
}

// Start starts a receiver. At the end of the test, the receiver stops.
func Start(tb testing.TB) *Receiver {
	r := &Receiver{arrived: make(chan struct{}, 1)}
	server := httptest.NewServer(r)
	tb.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	content, err := io.ReadAll(request.Body)
	var message collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(content, &message)
	}
	if err != nil || request.URL.Path != tracesPath || request.Method != http.MethodPost {
		http.Error(w, "no spans", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	for _, ofProcess := range message.ResourceSpans {
		resource := texts(ofProcess.GetResource().GetAttributes())
		for _, ofScope := range ofProcess.ScopeSpans {
			for _, s := range ofScope.Spans {
				r.spans = append(r.spans, newSpan(s, resource, request.Header))
			}
		}
	}
	r.mu.Unlock()
	select {
	case r.arrived <- struct{}{}:
	default:
	}
	w.Header().Set("Content-Type", "application/x-protobuf") // the response is an empty protobuf message, which has no bytes
}

func newSpan(s *trace.Span, resource map[string]string, header http.Header) Span {
	span := Span{
		Name: s.Name, Kind: s.Kind.String(), Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId),
		Parent: hex.EncodeToString(s.ParentSpanId), Attributes: texts(s.Attributes), Resource: resource, RequestHeader: header.Clone(),
		Begin: time.Unix(0, int64(s.StartTimeUnixNano)), End: time.Unix(0, int64(s.EndTimeUnixNano)),
	}
	if s.Status.GetCode() == trace.Status_STATUS_CODE_ERROR {
		span.Failure = s.Status.Message
	}
	for _, l := range s.Links {
		span.Links = append(span.Links, hex.EncodeToString(l.SpanId))
	}
	return span
}

func texts(attributes []*common.KeyValue) map[string]string {
	values := make(map[string]string)
	for _, a := range attributes {
		switch v := a.Value.GetValue().(type) {
		case *common.AnyValue_StringValue:
			values[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			values[a.Key] = fmt.Sprint(v.IntValue)
		}
	}
	return values
}

// Spans returns the spans that have arrived so far.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// Wait waits for spans. When isComplete returns true for the spans that have arrived so far, Wait returns these spans.
func (r *Receiver) Wait(tb testing.TB, isComplete func([]Span) bool) []Span {
	tb.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		if spans := r.Spans(); isComplete(spans) {
			return spans
		}
		select {
		case <-r.arrived:
		case <-deadline.C:
			tb.Fatalf("the expected spans have not arrived within %v; these have: %+v", patience, r.Spans())
		}
	}
}

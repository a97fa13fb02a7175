package tracing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/tracing"
)

const sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestTraceparentIsPassedOn(t *testing.T) {
	for header, want := range map[string]string{
		sampled: sampled,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00":           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff":           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03", // unknown flags are dropped
		"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01":           sampled,                                                   // a later version
		"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-more": sampled,
	} {
		var o tracing.Origin
		o.SetTraceparent([]byte(header))
		if got := o.Traceparent(); got != want {
			t.Errorf("%q becomes %q, want %q", header, got, want)
		}
	}
}

func TestMalformedTraceparentCountsAsAbsent(t *testing.T) {
	for _, header := range []string{
		"", "00", sampled[:54], sampled + "-", sampled + "0", " " + sampled, strings.ToUpper(sampled),
		strings.Replace(sampled, "4bf", "4bg", 1), strings.Replace(sampled, "-", "_", 1), strings.Replace(sampled, "4736-", "47366", 1),
		"ff" + sampled[2:], "01" + sampled[2:] + "x",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
	} {
		known := tracing.Origin{Trace: [16]byte{1}, Span: [8]byte{2}, Flags: 1}
		o := known
		if o.SetTraceparent([]byte(header)); o != known {
			t.Errorf("%q was taken for a traceparent", header)
		}
	}
}

func TestContextHasTheOrigin(t *testing.T) {
	o := tracing.Origin{Request: uuid.UUID{1}}
	if got := tracing.FromContext(tracing.WithOrigin(t.Context(), o)); got != o {
		t.Errorf("%v, want %v", got, o)
	}
	if got := tracing.FromContext(t.Context()); !got.IsZero() || got.HasRequest() || got.HasTrace() || got.Traceparent() != "" {
		t.Errorf("%v without an origin", got)
	}
}

func TestMemoryIsBoundedAndForgetsTheOldestFirst(t *testing.T) {
	const bound = 8
	m := tracing.NewOriginCache[int](bound)
	origin := func(n int) tracing.Origin { return tracing.Origin{Request: uuid.UUID{byte(n)}} }
	for n := range 100 {
		m.Keep(n, origin(n))
		held := 0
		for k := range n + 1 {
			if o, found := m.Find(k); found {
				held++
				if o != origin(k) {
					t.Fatalf("%d has the origin %v", k, o)
				}
			} else if k > n-bound/2 {
				t.Fatalf("%d is forgotten, and %d was the last", k, n)
			}
		}
		if held > bound {
			t.Fatalf("%d origins are held", held)
		}
	}
	m.Keep(99, origin(7))
	if o, _ := m.Find(99); o != origin(7) {
		t.Error("an origin was not replaced")
	}
	m.Forget(99)
	if _, found := m.Find(99); found {
		t.Error("an origin was not forgotten")
	}
}

func TestAbsentTracerRecordsAndAllocatesNothing(t *testing.T) {
	var tracer *tracing.Tracer
	parent := tracing.Origin{Request: uuid.UUID{1}}
	allocations := testing.AllocsPerRun(100, func() {
		hop := tracer.Begin(tracing.Client, "call", parent)
		hop.SetText("provider", "simulator")
		hop.SetNumber("attempt", 1)
		hop.Fail("it failed")
		if hop.IsRecorded() || hop.Origin(parent) != parent {
			t.Error("a hop is recorded")
		}
		hop.End()
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
	if tracer.BeginAt(tracing.Internal, "sync", parent, time.Time{}, nil).IsRecorded() {
		t.Error("a hop is recorded")
	}
}

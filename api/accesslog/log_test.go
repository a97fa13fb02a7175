package accesslog_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/api/accesslog"
	"mizan/ledger"
)

// output is a writer that records each call of Write. While a test holds the mutex held, calls of Write wait.
type output struct {
	mu     sync.Mutex
	held   sync.Mutex
	writes [][]byte // guarded by mu
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.held.Lock()
	defer o.held.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writes = append(o.writes, bytes.Clone(p))
	return len(p), nil
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(bytes.Join(o.writes, nil))
}

var line = accesslog.Line{
	At: time.Date(2026, 9, 3, 10, 15, 30, 123456789, time.UTC), RequestID: []byte("0f8fad5b-d9cb-469f-a165-70867728950e"), Method: "POST", Route: "/api/v1/transactions/:id",
	Status: 201, Took: 3*time.Millisecond + 45*time.Microsecond + 999, Organization: ledger.ID{0x3e, 0x0a, 15: 1}, Partner: 7, Bytes: 512,
}

func TestLineHasTheDocumentedFields(t *testing.T) {
	anonymous := line
	anonymous.Organization, anonymous.Partner, anonymous.Took = ledger.ID{}, 0, 1234*time.Second
	for name, c := range map[string]struct {
		line accesslog.Line
		json bool
		want string
	}{
		"text":                     {line, false, "time=2026-09-03T10:15:30.123Z level=INFO msg=request request_id=0f8fad5b-d9cb-469f-a165-70867728950e method=POST route=/api/v1/transactions/:id status=201 ms=3.045 organization_id=3e0a0000-0000-0000-0000-000000000001 partner_id=7 bytes=512\n"},
		"text without an identity": {anonymous, false, "time=2026-09-03T10:15:30.123Z level=INFO msg=request request_id=0f8fad5b-d9cb-469f-a165-70867728950e method=POST route=/api/v1/transactions/:id status=201 ms=1234000.000 bytes=512\n"},
		"JSON":                     {line, true, `{"time":"2026-09-03T10:15:30.123456789Z","level":"INFO","msg":"request","request_id":"0f8fad5b-d9cb-469f-a165-70867728950e","method":"POST","route":"/api/v1/transactions/:id","status":201,"ms":3.045,"organization_id":"3e0a0000-0000-0000-0000-000000000001","partner_id":7,"bytes":512}` + "\n"},
		"JSON without an identity": {anonymous, true, `{"time":"2026-09-03T10:15:30.123456789Z","level":"INFO","msg":"request","request_id":"0f8fad5b-d9cb-469f-a165-70867728950e","method":"POST","route":"/api/v1/transactions/:id","status":201,"ms":1234000.000,"organization_id":null,"partner_id":null,"bytes":512}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			out := new(output)
			log := accesslog.New(accesslog.Options{Mode: accesslog.All, JSON: c.json, Out: out})
			log.Add(c.line)
			_ = log.Close()
			if got := out.text(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if c.json && !json.Valid([]byte(out.text())) {
				t.Error("the line is not JSON")
			}
		})
	}
}

// A line has the same form as the lines of the service's own log, so that programs need to read only one form.
func TestLineHasTheFormOfTheServicesLog(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var own bytes.Buffer
		handler := slog.Handler(slog.NewTextHandler(&own, nil))
		if asJSON {
			handler = slog.NewJSONHandler(&own, nil)
		}
		record := slog.NewRecord(line.At, slog.LevelInfo, "request", 0)
		record.Add("request_id", string(line.RequestID), "method", line.Method, "route", line.Route, "status", line.Status, "ms", 3.045,
			"organization_id", line.Organization.String(), "partner_id", line.Partner, "bytes", line.Bytes)
		if err := handler.Handle(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		out := new(output)
		log := accesslog.New(accesslog.Options{Mode: accesslog.All, JSON: asJSON, Out: out})
		log.Add(line)
		_ = log.Close()
		if out.text() != own.String() {
			t.Errorf("got  %s\nwant %s", out.text(), own.String())
		}
	}
}

func TestModeSelectsRequests(t *testing.T) {
	log := accesslog.New(accesslog.Options{Mode: accesslog.Off, Out: new(output)})
	defer log.Close()
	for _, c := range []struct {
		mode      accesslog.Mode
		name      string
		ok, error bool
	}{{accesslog.All, "all", true, true}, {accesslog.Errors, "errors", false, true}, {accesslog.Off, "off", false, false}} {
		parsed, err := accesslog.ParseMode(c.name)
		if err != nil || parsed != c.mode || parsed.String() != c.name {
			t.Errorf("%q is %v, %v", c.name, parsed, err)
		}
		log.SetMode(parsed)
		if log.Wants(399) != c.ok || log.Wants(200) != c.ok || log.Wants(400) != c.error || log.Wants(503) != c.error {
			t.Errorf("%s: 399 %v, 400 %v", c.name, log.Wants(399), log.Wants(400))
		}
	}
	if _, err := accesslog.ParseMode("some"); err == nil {
		t.Error("an unknown mode is accepted")
	}
	var none *accesslog.Log
	if none.Wants(500) || none.Dropped() != 0 {
		t.Error("an absent log wants lines")
	}
}

// While the output hangs, Add returns at once, and lines that don't fit into the buffer are dropped and counted.
func TestSlowOutputDropsLinesAndHoldsUpNobody(t *testing.T) {
	const buffer, added = 4 << 10, 1000
	out := new(output)
	log := accesslog.New(accesslog.Options{Mode: accesslog.All, Out: out, Buffer: buffer})
	out.held.Lock()
	for range added {
		log.Add(line)
	}
	dropped := log.Dropped()
	if dropped == 0 {
		t.Error("nothing was dropped")
	}
	out.held.Unlock()
	_ = log.Close()
	if written := strings.Count(out.text(), "\n"); written+int(log.Dropped()) != added || written == 0 {
		t.Errorf("%d lines are written and %d dropped, of %d", written, log.Dropped(), added)
	}
	log.Add(line)
	if log.Dropped() != dropped+1 {
		t.Error("a line after the end does not count as dropped")
	}
}

func TestCloseDoesNotWaitForAnOutputThatHangs(t *testing.T) {
	out := new(output)
	log := accesslog.New(accesslog.Options{Mode: accesslog.All, Out: out})
	out.held.Lock()
	defer out.held.Unlock()
	log.Add(line)
	_ = log.Close()
}

func TestLinesOfManyRequestsAreWholeAndComplete(t *testing.T) {
	const goroutines, each = 8, 2000
	out := new(output)
	log := accesslog.New(accesslog.Options{Mode: accesslog.All, Out: out})
	var adding sync.WaitGroup
	for g := range goroutines {
		adding.Go(func() {
			for i := range each {
				l := line
				l.Partner = int64(g*each + i + 1)
				log.Add(l)
			}
		})
	}
	adding.Wait()
	_ = log.Close()
	seen := make(map[string]bool)
	for _, w := range out.writes {
		if w[len(w)-1] != '\n' || len(w) > 16<<10 {
			t.Fatalf("a write of %d bytes ends with %q", len(w), w[max(0, len(w)-20):])
		}
	}
	for text := range strings.Lines(out.text()) {
		_, partner, _ := strings.Cut(text, "partner_id=")
		seen[partner] = true
	}
	if want := goroutines*each - int(log.Dropped()); len(seen) != want {
		t.Errorf("%d different lines, want %d", len(seen), want)
	}
	for partner := range seen {
		if !strings.HasSuffix(partner, fmt.Sprintf(" bytes=%d\n", line.Bytes)) {
			t.Fatalf("a line ends with %q", partner)
		}
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	log := accesslog.New(accesslog.Options{Mode: accesslog.All, Out: new(output), Buffer: 1})
	defer log.Close()
	if n := testing.AllocsPerRun(100, func() { log.Add(line) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	log := accesslog.New(accesslog.Options{Mode: accesslog.All, Out: discard{}})
	defer log.Close()
	b.ReportAllocs()
	for b.Loop() {
		log.Add(line)
	}
}

// discard is a writer that discards everything immediately.
type discard struct{}

// Write implements io.Writer.
func (discard) Write(p []byte) (int, error) { return len(p), nil }

package bench

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/bench/generator"
	"mizan/bench/server"
)

func TestRoundsAreShortAndOfAnEvenNumber(t *testing.T) {
	for d, want := range map[time.Duration]int{
		time.Millisecond: 4, 2 * time.Second: 4, 2*time.Second + 1: 6, 3500 * time.Millisecond: 8, 30 * time.Second: 60, 500 * time.Second: 1000, time.Hour: 1000,
	} {
		if got := roundsIn(d); got != want {
			t.Errorf("%v: %d rounds, want %d", d, got, want)
		}
	}
}

func TestEverySecondRoundHasTheReverseOrder(t *testing.T) {
	var order []int
	for n := range 4 {
		order = append(order, kindOrder(n, 3)...)
	}
	if want := []int{0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

func TestEchoMustBeTheBodyOfTheRequest(t *testing.T) {
	sandbox := &server.Sandbox{APIKey: "key", OrganizationID: "org"}
	e := &echoJob{newPayments("host", "1", sandbox, false).job().(*paymentJob)}
	_, body, _ := strings.Cut(string(e.Request(7)), "\r\n\r\n")
	if !json.Valid([]byte(body)) || len(body) != e.bodySize {
		t.Fatalf("%q is no body of %d bytes", body, e.bodySize)
	}
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"the echo":         {200, body, ""},
		"another number":   {200, strings.Replace(body, "0000000000000007", "0000000000000008", 1), "another body"},
		"a part":           {200, body[1:], "another body"},
		"nothing":          {200, "", "another body"},
		"a refusal":        {503, body, "HTTP 503"},
		"more than a body": {200, "\n" + body, "another body"},
	} {
		if got := e.Check(7, &generator.Response{Status: c.status, Body: []byte(c.body)}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRoundWithoutAResultIsAnError(t *testing.T) {
	if _, err := addRound("echo", generator.NewFigures(), generator.NewFigures(), time.Second); err == nil || !strings.Contains(err.Error(), "echo") {
		t.Errorf("%v", err)
	}
}

func TestAgainstFloorIsOnlyForPaymentsAsFastAsTheyComeWithoutTLS(t *testing.T) {
	valid := PaymentsConfig{Workload: "payments", Connections: 1, Duration: 1, Timeout: 1, TLS: "off", AgainstFloor: true}
	if err := valid.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*PaymentsConfig){
		"reads":             func(c *PaymentsConfig) { c.Workload = "read" },
		"a rate":            func(c *PaymentsConfig) { c.Rate = 1 },
		"overload":          func(c *PaymentsConfig) { c.Overload = true },
		"TLS":               func(c *PaymentsConfig) { c.TLS = "auto" },
		"a target with TLS": func(c *PaymentsConfig) { c.Target, c.Data = "https://x", "d" },
	} {
		invalid := valid
		change(&invalid)
		if err := invalid.Validate(); err == nil || !strings.Contains(err.Error(), "--against-floor") && !strings.Contains(err.Error(), "--overload") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The speeds depend on the machine. The test checks that the report's ratios follow from its figures, that all three kinds were
// measured, and that the payments are in the ledger.
func TestPaymentsAgainstTheFloorOfARealServer(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.json")
	data := t.TempDir()
	out, err := runBinary(t, "bench", "payments", "--against-floor", "--data", data, "--duration", "1s", "--connections", "4", "--report", report)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	content, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var r PaymentsReport
	if err := json.Unmarshal(content, &r); err != nil {
		t.Fatal(err)
	}
	f := r.Floor
	if f == nil || r.Server == nil || r.Outcome.Good == 0 || r.Charged != r.Outcome.Good || r.Ledger != "ok" || f.Echo.FailedRequests() != 0 {
		t.Fatalf("%s", content)
	}
	if len(f.Rounds) != 4 || f.RoundSeconds != 0.25 || f.SyncBytes != 4096 || f.RequestBytes < 400 {
		t.Errorf("%+v", f)
	}
	for _, c := range []struct {
		name       string
		got, above float64
		below      float64
	}{
		{"payments to fdatasyncs", f.Ratios.PaymentsPerSync.Value, r.Outcome.PerSecond, f.Sync.PerSecond},
		{"payments to echoes", f.Ratios.PaymentsPerEcho.Value, r.Outcome.PerSecond, f.Echo.PerSecond},
		{"p50", f.Ratios.P50PerSync.Value, r.Outcome.Latency.P50, f.Sync.Latency.P50},
		{"CPU", f.Ratios.CPUPerEcho, r.Server.CPUSeconds / float64(r.Outcome.Good), f.EchoServer.CPUSeconds / float64(f.Echo.Good)},
	} {
		if want := c.above / c.below; !(want > 0) || math.Abs(c.got-want) > want/1000 {
			t.Errorf("%s: %v, want %v", c.name, c.got, want)
		}
	}
	for _, message := range []string{"ratio", "payments/s to lone fdatasyncs/s", "the server's CPU for a payment to the echo's", "round   4 of 4"} {
		if !strings.Contains(out, message) {
			t.Errorf("it does not say %q:\n%s", message, out)
		}
	}
	if left, err := filepath.Glob(filepath.Join(data, "bench-floor-*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

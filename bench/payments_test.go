package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// runPayments runs Payments against a fake service and returns its report and output. The run measures only one
// request, because the second one is due after the end of the run; so the result does not depend on the
// machine's speed.
func runPayments(t *testing.T, p *fakeService, change func(*PaymentsConfig)) (PaymentsReport, string, error) {
	t.Helper()
	baseURL, dir := p.start(t)
	cfg := PaymentsConfig{
		Workload: "payments", Connections: 8, Duration: time.Hour, Rate: 1.0 / 7200, Timeout: time.Minute, TLS: "off",
		Target: baseURL, Data: dir, Report: filepath.Join(t.TempDir(), "report.json"),
	}
	if change != nil {
		change(&cfg)
	}
	var out strings.Builder
	err := Payments(t.Context(), cfg, &out)
	var r PaymentsReport
	if content, readErr := os.ReadFile(cfg.Report); readErr == nil {
		if err := json.Unmarshal(content, &r); err != nil {
			t.Fatal(err)
		}
	}
	return r, out.String(), err
}

func TestPaymentsOfPreloadAndRunAreReported(t *testing.T) {
	processors := runtime.GOMAXPROCS(0)
	p := new(fakeService)
	r, out, err := runPayments(t, p, func(c *PaymentsConfig) { c.Preload = 50 })
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if r.Preload.Good != 50 || r.Outcome.Good != 1 || r.Outcome.FailedRequests() != 0 || r.Ledger != "ok" || r.Server != nil || r.Resolved != 0 {
		t.Errorf("%+v", r)
	}
	if r.Charged != 50+r.Outcome.Good || int(r.Charged) != len(p.byTxid) {
		t.Errorf("%d charged by the report, %d by the platform", r.Charged, len(p.byTxid))
	}
	if r.Machine.Cores == 0 || r.Machine.CPU == "" || len(r.Command) == 0 || r.Machine.Go == "" || r.Machine.FileSystem == "unknown" {
		t.Errorf("%+v", r.Header)
	}
	if runtime.GOMAXPROCS(0) != processors {
		t.Error("the number of processors was not set back")
	}
}

func TestPaymentsRunForADuration(t *testing.T) {
	p := new(fakeService)
	r, out, err := runPayments(t, p, func(c *PaymentsConfig) { c.Duration, c.Rate = 100*time.Millisecond, 0 })
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if r.Outcome.FailedRequests() != 0 || r.Ledger != "ok" || r.Charged != r.Outcome.Good || int(r.Charged) != len(p.byTxid) {
		t.Errorf("%+v, %d charged by the platform", r, len(p.byTxid))
	}
}

func TestPaymentsKeepARate(t *testing.T) {
	r, out, err := runPayments(t, new(fakeService), func(c *PaymentsConfig) { c.Duration, c.Rate = 100*time.Millisecond, 500 })
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if requests := r.Outcome.Good + r.Outcome.FailedRequests(); requests != 50 {
		t.Errorf("%d requests in 100 ms at 500 a second", requests)
	}
}

// The outcomes of payments whose responses were lost or late are looked up. Then the ledger's totals
// must match the charged payments exactly.
func TestPaymentsResolvesUnknownOutcomes(t *testing.T) {
	p := &fakeService{losesResponses: true}
	r, out, err := runPayments(t, p, func(c *PaymentsConfig) { c.Preload = 50 })
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, kind := range []string{"connection closed", "HTTP 503", "status charging"} {
		if r.Preload.Errors[kind] == 0 {
			t.Errorf("no %q among the errors: %v", kind, r.Preload.Errors)
		}
	}
	if r.Resolved == 0 || r.Charged <= r.Preload.Good+r.Outcome.Good || int(r.Charged) != p.available/paymentAmount {
		t.Errorf("%d resolved, %d good, %d charged, the platform has %d", r.Resolved, r.Preload.Good+r.Outcome.Good, r.Charged, p.available/paymentAmount)
	}
}

func TestPaymentsReportsAWrongLedger(t *testing.T) {
	for name, c := range map[string]struct {
		service *fakeService
		message string
	}{
		"a payment not booked":   {&fakeService{losesPayments: true}, "has risen by"},
		"a payment booked twice": {&fakeService{repeatsPayments: true}, "has risen by"},
		"a side not booked":      {&fakeService{booksOneSide: true}, "trial balance"},
	} {
		t.Run(name, func(t *testing.T) {
			r, out, err := runPayments(t, c.service, func(c *PaymentsConfig) { c.Preload = 50 })
			if err == nil || !strings.Contains(err.Error(), c.message) {
				t.Fatalf("Payments = %v\n%s", err, out)
			}
			if r.Ledger == "ok" || !strings.Contains(out, r.Ledger) {
				t.Errorf("the report says %q", r.Ledger)
			}
		})
	}
}

func TestPaymentsStopsIfNothingListens(t *testing.T) {
	_, out, err := runPayments(t, new(fakeService), func(c *PaymentsConfig) { c.Target = "http://127.0.0.1:1" })
	if err == nil {
		t.Errorf("no error\n%s", out)
	}
}

func TestReadWorkloadChecksThePaymentThatItGets(t *testing.T) {
	r, out, err := runPayments(t, new(fakeService), func(c *PaymentsConfig) { c.Workload, c.Preload = "read", 20 })
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if r.Outcome.Good == 0 || r.Outcome.FailedRequests() != 0 || r.Charged != 20 {
		t.Errorf("%+v", r)
	}
	r, _, err = runPayments(t, &fakeService{readsOtherPayments: true}, func(c *PaymentsConfig) { c.Workload, c.Preload = "read", 20 })
	if err != nil || r.Outcome.Good != 0 || r.Outcome.Errors["another payment"] == 0 {
		t.Errorf("%v, %+v", err, r.Outcome)
	}
}

func TestListWorkloadChecksThePageThatItGets(t *testing.T) {
	useLists := func(c *PaymentsConfig) { c.Workload, c.Query = "list", "limit=7" }
	r, out, err := runPayments(t, new(fakeService), useLists)
	if err != nil || r.Outcome.Good == 0 || r.Outcome.FailedRequests() != 0 {
		t.Fatalf("%v, %+v\n%s", err, r.Outcome, out)
	}
	r, _, err = runPayments(t, &fakeService{readsOtherPayments: true}, useLists)
	if err != nil || r.Outcome.Good != 0 || r.Outcome.Errors["HTTP 400"] == 0 {
		t.Errorf("%v, %+v", err, r.Outcome)
	}
}

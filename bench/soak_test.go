package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mizan/bench/generator"
	"mizan/bench/server"
)

// runSoak runs Soak against a fake service and returns its report, its picture and its output.
func runSoak(t *testing.T, p *fakeService, payments int) (r SoakReport, svg, out string, err error) {
	t.Helper()
	baseURL, dir := p.start(t)
	files := t.TempDir()
	cfg := SoakConfig{
		Payments: payments, Connections: 8, Interval: time.Hour, Timeout: time.Minute, Target: baseURL, Data: dir,
		Report: filepath.Join(files, "report.json"), SVG: filepath.Join(files, "picture.svg"),
	}
	var printed strings.Builder
	err = Soak(t.Context(), cfg, &printed)
	readReport(t, cfg.Report, &r)
	picture, readErr := os.ReadFile(cfg.SVG)
	if readErr != nil {
		t.Fatalf("%v\n%s", errors.Join(readErr, err), &printed)
	}
	return r, string(picture), printed.String(), err
}

func readReport(t *testing.T, name string, report any) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(content, report)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestSoakMakesItsPaymentsAndReportsThem(t *testing.T) {
	p := new(fakeService)
	r, svg, out, err := runSoak(t, p, 300)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(p.byTxid) != 300 || r.Outcome.Good != 300 || r.Charged != 300 || r.Ledger != "ok" || r.Server != nil || r.Windows != nil {
		t.Errorf("%d payments, %+v", len(p.byTxid), r)
	}
	if len(r.Rows) != 1 || r.Rows[0].Charged != 300 || r.Rows[0].PerSecond <= 0 || r.Rows[0].CPU != nil || r.Rows[0].Written != nil || r.Rows[0].Anon != nil {
		t.Errorf("%+v", r.Rows)
	}
	for _, text := range []string{"<svg ", "300 payments over 8 connections", "payments a second"} {
		if !strings.Contains(svg, text) {
			t.Errorf("the picture lacks %q:\n%s", text, svg)
		}
	}
	if strings.Contains(svg, "CPU of the server") {
		t.Error("the picture shows CPU although it was not measured")
	}
	if !strings.Contains(out, "ledger     ok: 300 payments of 1000 charged") {
		t.Errorf("printed:\n%s", out)
	}
}

func TestSoakReportsAWrongLedgerWithItsRows(t *testing.T) {
	r, _, out, err := runSoak(t, &fakeService{losesPayments: true}, 100)
	if err == nil || r.Ledger == "ok" || len(r.Rows) != 1 || !strings.Contains(out, r.Ledger) {
		t.Errorf("%v, %+v\n%s", err, r, out)
	}
}

func TestSoakKeepsItsRowsIfTheLedgerCannotBeRead(t *testing.T) {
	r, _, _, err := runSoak(t, &fakeService{hidesLedgerAfter: 50}, 100)
	if err == nil || !strings.HasPrefix(r.Ledger, "bench: GET ") || len(r.Rows) != 1 || r.Outcome.Good != 100 {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestSoakRefusesWhatItCannotDo(t *testing.T) {
	valid := SoakConfig{Payments: 1, Connections: 1, Interval: time.Second, Timeout: 1, Recovery: true}
	if err := valid.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*SoakConfig){
		"no payments":              func(c *SoakConfig) { c.Payments = 0 },
		"too many payments":        func(c *SoakConfig) { c.Payments = maxPreload + 1 },
		"no connections":           func(c *SoakConfig) { c.Connections = 0 },
		"too short an interval":    func(c *SoakConfig) { c.Interval = minInterval - 1 },
		"too long an interval":     func(c *SoakConfig) { c.Interval = maxInterval + 1 },
		"a kill of another server": func(c *SoakConfig) { c.Target, c.Data = "http://x", "d" },
		"a target without --data":  func(c *SoakConfig) { c.Target, c.Recovery = "http://x", false },
	} {
		invalid := valid
		change(&invalid)
		if invalid.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// There are two rows of ten seconds each: 1000 payments take 0.2 s of CPU, and then 500 take 0.3 s.
func TestRowsHaveTheFiguresOfTheirInterval(t *testing.T) {
	var out strings.Builder
	f := generator.NewFigures()
	w := newSoakWatch(&serverRun{out: &out, dir: t.TempDir()}, f, 10*time.Second)
	w.cpuBefore = time.Second
	pay := func(n int, latency time.Duration) {
		for range n {
			f.CountGood(0, 0, latency)
		}
	}
	w.sample(0, &server.Usage{CPU: time.Second})
	pay(1000, 8*time.Millisecond)
	w.sample(9*time.Second, &server.Usage{CPU: 1100 * time.Millisecond, Anon: 5 << 20})
	w.sample(10*time.Second, &server.Usage{CPU: 1200 * time.Millisecond, Anon: 6 << 20})
	pay(500, 2*time.Millisecond)
	w.sample(20*time.Second, &server.Usage{CPU: 1500 * time.Millisecond, Anon: 7 << 20})
	w.endRow(20*time.Second, &server.Usage{CPU: 1500 * time.Millisecond}) // the row would have no length, so none is added
	if len(w.rows) != 2 {
		t.Fatalf("%d rows\n%s", len(w.rows), &out)
	}
	for i, want := range []struct {
		end, seconds, rate, latency, cpu float64
		charged                          uint64
		anon                             int64
	}{{10, 10, 100, 8, 200, 1000, 6 << 20}, {20, 10, 50, 2, 600, 1500, 7 << 20}} {
		r := w.rows[i]
		near := func(a, b float64) bool { return a > 0.999*b && a < 1.001*b }
		if r.End != want.end || r.Seconds != want.seconds || r.PerSecond != want.rate || r.Charged != want.charged || *r.CPU != want.cpu || *r.Anon != want.anon ||
			!near(r.P50, want.latency) || !near(r.P99, want.latency) {
			t.Errorf("row %d: %+v, CPU %v, memory %v; want %+v", i, r, *r.CPU, *r.Anon, want)
		}
	}
	if windows := w.windows(); windows == nil || windows.First.CPU != 200 || windows.Worst.CPU != 600 {
		t.Errorf("%+v", windows)
	}
	if !strings.Contains(out.String(), " 600 ") || !strings.Contains(out.String(), " - ") {
		t.Errorf("printed:\n%s", &out)
	}
}

func TestSectorsWrittenAreBytes(t *testing.T) {
	const line = "  403700    55704 16354274   433259  4232223   239940 86912776   391593        0   228180   916418\n"
	if got, err := sectorsWritten(line); err != nil || got != 86_912_776*512 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "1 2 3 4 5 6", "1 2 3 4 5 6 x"} {
		if _, err := sectorsWritten(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestKillWaitsForItsRequestOrTheEndOfTheRun(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	end(errNotFound)
	s := &soakRun{serverRun: &serverRun{}} // there is no server: a kill would panic
	if err := s.killAfter(ctx, new(generator.Load), 1); !errors.Is(err, errNotFound) {
		t.Errorf("%v", err)
	}
}

// The second run continues on the store of the first one. That shows that the recovery has removed the file of its manual clock.
func TestSoakOfARealServerWithKills(t *testing.T) {
	data, files := t.TempDir(), t.TempDir()
	report := filepath.Join(files, "report.json")
	for run := range 2 {
		arguments := []string{"bench", "soak", "--payments", "400", "--connections", "4", "--interval", "100ms", "--data", data, "--report", report}
		if run == 0 {
			arguments = append(arguments, "--recovery", "--svg", filepath.Join(files, "picture.svg"))
		}
		out, err := runBinary(t, arguments...)
		if err != nil {
			t.Fatalf("run %d: %v\n%s", run, err, out)
		}
		var r SoakReport
		readReport(t, report, &r)
		if r.Ledger != "ok" || r.Outcome.Good != 400 || r.Server == nil || r.Server.CPUSeconds <= 0 || len(r.Rows) == 0 {
			t.Fatalf("run %d: %+v\n%s", run, r, out)
		}
		last := r.Rows[len(r.Rows)-1]
		if last.Charged != 400 || last.CPU == nil || last.Anon == nil || *last.Anon <= 0 || last.Disk <= 0 {
			t.Errorf("run %d: the last row is %+v", run, last)
		}
		if run == 1 {
			break
		}
		if r.Charged <= 400 || len(r.Recovery) != 2 || r.Recovery[0].Clock != "real" || r.Recovery[1].Clock != "manual" {
			t.Errorf("%+v", r)
		}
		for _, start := range r.Recovery {
			if start.ReadyAfter <= 0 || start.ReadyAnon <= 0 {
				t.Errorf("%+v", start)
			}
			if want := fmt.Sprintf("SIGKILL and a start with a %s clock", start.Clock); !strings.Contains(out, want) {
				t.Errorf("it does not say %q:\n%s", want, out)
			}
		}
		if _, err := os.Stat(filepath.Join(data, clockFile)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the manual clock is left: %v", err)
		}
		if _, err := os.Stat(filepath.Join(files, "picture.svg")); err != nil {
			t.Error(err)
		}
	}
}

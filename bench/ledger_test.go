package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLedgerEndsAfterItsTransfersOrDuration(t *testing.T) {
	for _, c := range []struct {
		name     string
		cfg      LedgerConfig
		wantGood uint64 // 0: at least one
	}{
		{"a number of transfers", LedgerConfig{Accounts: 50, Batch: 64, HotShare: 0.5, Transfers: 1000}, 1000},
		{"a duration", LedgerConfig{Accounts: 2, Batch: 8, Duration: 2 * time.Second}, 0},
		{"less than a batch", LedgerConfig{Accounts: 3, Batch: 100, HotShare: 1, Transfers: 7}, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Data, c.cfg.Report = t.TempDir(), filepath.Join(t.TempDir(), "report.json")
			var out strings.Builder
			if err := Ledger(t.Context(), c.cfg, &out); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			content, err := os.ReadFile(c.cfg.Report)
			if err != nil {
				t.Fatal(err)
			}
			var r LedgerReport
			if err := json.Unmarshal(content, &r); err != nil {
				t.Fatal(err)
			}
			good := r.Outcome.Good
			if good == 0 || (c.wantGood != 0 && good != c.wantGood) || r.Ledger != "ok" || r.Groups.Count == 0 || r.WrittenBytes <= 0 || r.DiskBytes <= 0 {
				t.Errorf("%s", content)
			}
			if !strings.Contains(out.String(), "ledger     ok") {
				t.Errorf("printed:\n%s", &out)
			}
		})
	}
}

// verify must return an error if the store lacks one unit of money, or one transfer, that was submitted.
func TestLedgerVerifyFindsADifference(t *testing.T) {
	cfg := LedgerConfig{Accounts: 10, Batch: 16, Transfers: 100}
	dir := t.TempDir()
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	run := newTransfers(&cfg, 1)
	if err := run.run(t.Context(), j, &cfg); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := run.verify(dir); err != nil {
		t.Fatal(err)
	}
	run.credits[3]++
	if err := run.verify(dir); err == nil {
		t.Error("a missing credit was not found")
	}
	run.credits[3]--
	run.figures.CountGood(0, 0, 0)
	if err := run.verify(dir); err == nil {
		t.Error("a missing transfer was not found")
	}
}

func TestTransfersUseTheHotAccountAsConfigured(t *testing.T) {
	const transferCount = 20_000
	for _, hot := range []float64{0, 0.25, 0.9, 1} {
		run := newTransfers(&LedgerConfig{Accounts: 100, Batch: 1, HotShare: hot}, 1)
		hotTransfers := 0
		for range transferCount {
			from, to := run.chooseAccounts()
			if from == to || from < 0 || to < 0 || from >= 100 || to >= 100 {
				t.Fatalf("pair %d, %d", from, to)
			}
			if from == 0 || to == 0 {
				hotTransfers++
			}
		}
		if share := float64(hotTransfers) / transferCount; share < hot-0.02 || share > hot+0.02 {
			t.Errorf("hot %v: %v of the transfers", hot, share)
		}
	}
}

func TestTransferIDsAreVersion4(t *testing.T) {
	run := newTransfers(&LedgerConfig{Accounts: 2, Batch: 1}, 7)
	seen := make(map[string]bool)
	for range 1000 {
		id := run.newID()
		if id.Version() != 4 || id.Variant().String() != "RFC4122" || seen[id.String()] {
			t.Fatalf("%v, version %d, variant %v", id, id.Version(), id.Variant())
		}
		seen[id.String()] = true
	}
}

func TestConfigsBeyondTheBoundsAreRefused(t *testing.T) {
	valid := LedgerConfig{Accounts: 2, Batch: 16_384, HotShare: 1, Transfers: 1}
	for name, change := range map[string]func(*LedgerConfig){
		"too few accounts":                 func(c *LedgerConfig) { c.Accounts = 1 },
		"too large a batch":                func(c *LedgerConfig) { c.Batch = 16_385 },
		"an empty batch":                   func(c *LedgerConfig) { c.Batch = 0 },
		"a fraction above one":             func(c *LedgerConfig) { c.HotShare = 1.1 },
		"neither transfers nor a duration": func(c *LedgerConfig) { c.Transfers = 0 },
	} {
		if err := valid.Validate(); err != nil {
			t.Fatal(err)
		}
		invalid := valid
		change(&invalid)
		if invalid.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	validPayments := PaymentsConfig{Workload: "read", Connections: 1, Duration: 1, Timeout: 1, TLS: "off"}
	for name, change := range map[string]func(*PaymentsConfig){
		"an unknown workload":     func(c *PaymentsConfig) { c.Workload = "write" },
		"no connections":          func(c *PaymentsConfig) { c.Connections = 0 },
		"no duration":             func(c *PaymentsConfig) { c.Duration = 0 },
		"a negative rate":         func(c *PaymentsConfig) { c.Rate = -1 },
		"a negative preload":      func(c *PaymentsConfig) { c.Preload = -1 },
		"a target without --data": func(c *PaymentsConfig) { c.Target = "http://x" },
		"TLS from files":          func(c *PaymentsConfig) { c.TLS = "files" },
		"a query with a space":    func(c *PaymentsConfig) { c.Query = "a b" },
		"no time-out":             func(c *PaymentsConfig) { c.Timeout = 0 },
	} {
		if err := validPayments.Validate(); err != nil {
			t.Fatal(err)
		}
		invalid := validPayments
		change(&invalid)
		if invalid.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

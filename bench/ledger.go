package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"mizan/bench/generator"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

// minFreeSpace is the free disk space below which the journal refuses changes.
const minFreeSpace = 512 << 20

// LedgerReport is the JSON report of `mizan bench ledger`, which measures the journal alone, without a server.
type LedgerReport struct {
	Header
	Accounts     int               `json:"accounts"`
	Batch        int               `json:"batch"`
	HotShare     float64           `json:"hot"`
	Seed         uint64            `json:"seed"`
	Outcome      generator.Outcome `json:"outcome"`
	Groups       Groups            `json:"groups"`
	WrittenBytes float64           `json:"written_bytes_per_transfer"` // keys and values of all rows
	DiskBytes    float64           `json:"disk_bytes_per_transfer"`    // size of the closed store's files
	Costs        Costs             `json:"process"`
	Ledger       string            `json:"ledger"` // "ok", or a description of the fault
}

// Groups describes the groups of transfers that the journal's writer wrote and synced together.
type Groups struct {
	Count          uint64  `json:"count"`
	Mean           float64 `json:"mean_transfers"`
	P50            int64   `json:"p50_transfers"`
	Max            int64   `json:"max_transfers"`
	Rows           float64 `json:"mean_rows"`
	PrepareSeconds float64 `json:"prepare_seconds"` // sum over all groups
	ApplySeconds   float64 `json:"apply_seconds"`   // sum over all groups of the time until the group was durable
}

// Ledger posts transfers, each between two accounts, through the journal in this process. Then it opens the
// store again, checks every account's totals, and prints the figures.
func Ledger(ctx context.Context, cfg LedgerConfig, out io.Writer) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	dir, remove, err := dataDirectory(cfg.Data)
	if err != nil {
		return err
	}
	defer remove()
	warnIfInMemory(out, dir)
	if cfg.Seed == 0 {
		cfg.Seed = rand.Uint64()
	}
	report := LedgerReport{Header: newHeader(dir), Accounts: cfg.Accounts, Batch: cfg.Batch, HotShare: cfg.HotShare, Seed: cfg.Seed}
	work := newTransfers(&cfg, cfg.Seed)
	if err := report.measure(ctx, &cfg, work, dir, out); err != nil {
		return err
	}
	ledgerErr := work.verify(dir)
	if report.Ledger = "ok"; ledgerErr != nil {
		report.Ledger = ledgerErr.Error()
	}
	report.print(out)
	return errors.Join(ledgerErr, writeReport(cfg.Report, &report))
}

// openJournal opens the journal like the server does. If the store fails, the process ends, because nothing may be acknowledged
// after a failed write.
func openJournal(dir string) (*posting.Journal, error) {
	return posting.Open(posting.Options{
		Store: store.Options{Dir: dir, MinFree: minFreeSpace, Log: slog.New(slog.DiscardHandler)},
		Clock: clock.Real{},
		Log:   slog.New(slog.DiscardHandler),
		Fatal: func(err error) {
			_, _ = fmt.Fprintln(os.Stderr, "mizan: storage:", err)
			os.Exit(1)
		},
	})
}

// measure runs the transfers and closes the journal.
func (r *LedgerReport) measure(ctx context.Context, cfg *LedgerConfig, work *transfers, dir string, out io.Writer) error {
	j, err := openJournal(dir)
	if err != nil {
		return err
	}
	sizes := &groupSizes{sizes: hdrhistogram.New(1, posting.MaxGroup, 3)}
	j.Stats.OnGroup = sizes.add
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		printProgress(out, "ledger", work.figures, 0, stop)
	}()
	meter := startMeter(nil)
	err = work.run(ctx, j, cfg)
	_, r.Costs = meter.stop()
	close(stop)
	<-stopped
	r.Outcome = work.figures.Outcome()
	err = errors.Join(err, j.Close())
	r.Groups = sizes.groups(&j.Stats)
	if n := float64(r.Outcome.Good); n > 0 {
		r.WrittenBytes = float64(j.Stats.Bytes.Load()) / n
		r.DiskBytes = float64(diskUsage(dir)) / n
	}
	return err
}

// groupSizes counts the transfers in each group. The writer calls add after each group.
type groupSizes struct {
	mu      sync.Mutex
	sizes   *hdrhistogram.Histogram
	largest int
}

func (g *groupSizes) add(group posting.DurableGroup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.sizes.RecordValue(int64(min(group.Changes, posting.MaxGroup)))
	g.largest = max(g.largest, group.Changes)
}

// groups combines the sizes with the journal's own statistics.
func (g *groupSizes) groups(s *posting.Stats) Groups {
	g.mu.Lock()
	defer g.mu.Unlock()
	count := s.Groups.Load()
	perGroup := func(n uint64) float64 { return float64(n) / float64(max(count, 1)) }
	return Groups{
		Count: count, Mean: perGroup(s.Changes.Load()), Rows: perGroup(s.Rows.Load()),
		P50: g.sizes.ValueAtQuantile(50), Max: int64(g.largest),
		PrepareSeconds: time.Duration(s.Prepare.Load()).Seconds(), ApplySeconds: time.Duration(s.Apply.Load()).Seconds(),
	}
}

// verify opens the store again. It compares every account's totals with the submitted transfers. It also compares the sum of all
// debits with the sum of all credits, and the journal's length with the number of acknowledged transfers.
func (t *transfers) verify(dir string) (err error) {
	j, err := openJournal(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	view := j.View()
	defer view.Close()
	eventCount, _, err := view.Head(t.org)
	if err != nil {
		return err
	}
	if want := t.figures.Outcome().Good; eventCount != want {
		return fmt.Errorf("bench: %d transfers were acknowledged, the journal has %d events", want, eventCount)
	}
	var debits, credits money.Amount
	for i, path := range t.paths {
		totals, err := view.Totals(t.org, ledger.Account{Path: path, Asset: transferAsset})
		if err != nil {
			return err
		}
		want := ledger.Totals{DebitsPosted: money.FromUint64(t.debits[i]), CreditsPosted: money.FromUint64(t.credits[i])}
		if totals != want {
			return fmt.Errorf("bench: %s has totals %+v, but the transfers give %+v", path, totals, want)
		}
		if debits, err = debits.Add(totals.DebitsPosted); err != nil {
			return err
		}
		if credits, err = credits.Add(totals.CreditsPosted); err != nil {
			return err
		}
	}
	if debits != credits {
		return fmt.Errorf("bench: debits are %v, credits %v", debits, credits)
	}
	return nil
}

// print prints the report for people.
func (r *LedgerReport) print(out io.Writer) {
	o, g := &r.Outcome, &r.Groups
	printLine(out, "machine    %v", r.Machine)
	printLine(out, "transfers  %d in %.2f s: %.0f/s over %d accounts, %g to a hot one, seed %d", o.Good, o.Seconds, o.PerSecond, r.Accounts, r.HotShare, r.Seed)
	printLine(out, "latency    %v", o.Latency)
	printLine(out, "groups     %d of %.0f transfers and %.0f rows (p50 %d, max %d), prepared in %.2f s, applied in %.2f s",
		g.Count, g.Mean, g.Rows, g.P50, g.Max, g.PrepareSeconds, g.ApplySeconds)
	printLine(out, "bytes      %.0f written and %.0f on disk a transfer", r.WrittenBytes, r.DiskBytes)
	printLine(out, "process    %.2f CPU s, peak anonymous memory %d MiB", r.Costs.CPUSeconds, r.Costs.PeakAnon>>20)
	printLine(out, "ledger     %s", r.Ledger)
}

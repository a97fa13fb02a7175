package api_test

import (
	"bytes"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/api/ledger/export"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// The data for measurements of exports are payments of several partners. Each payment has five events and
// an entry of three postings, and one payment in ten begins with a hold.
const (
	exportedEntries  = 1_000_000
	exportedPartners = 10_000
	exportedTogether = 100
)

// fillJournal books about the given number of entries.
func fillJournal(t *testing.T, f *fixture, entries int) {
	t.Helper()
	dollars := money.Asset{Currency: "USD", Env: money.Prod}
	responses := make(chan posting.Receipt, 64)
	waiting := 0
	for n := 0; n < entries; {
		change := &posting.Change{}
		for range exportedTogether {
			amount := uint64(1000 + n%5000)
			entry := &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
				{Account: "A:provider:simulator", Asset: dollars, Side: ledger.Debit, Amount: money.FromUint64(amount)},
				{Account: ledger.PartnerAvailable(int64(n%exportedPartners + 10)), Asset: dollars, Side: ledger.Credit, Amount: money.FromUint64(amount - 25)},
				{Account: ledger.Fees, Asset: dollars, Side: ledger.Credit, Amount: money.FromUint64(25)},
			}}
			n++
			events := []ledger.Event{{Name: "create", To: "new"}, {Name: "route", From: "new", To: "routed"}, {Name: "submit", From: "routed", To: "charging"}, {Name: "answer", From: "charging", To: "charging"}}
			if n%10 == 0 {
				hold := *entry
				hold.Phase = ledger.Pending
				entry.Phase, entry.Released = ledger.Capture, hold.Postings
				events[3] = ledger.Event{Name: "suspend", From: "charging", To: "held", Entry: &hold}
				n++
			}
			events = append(events, ledger.Event{Name: "settle", From: "charging", To: "charged", Entry: entry})
			change.Steps = append(change.Steps, posting.Step{Org: f.seed.First.Org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()}, Events: events})
		}
		if waiting == cap(responses) {
			must(t, (<-responses).Err)
			waiting--
		}
		f.Journal.Submit(change, func(r posting.Receipt) { responses <- r })
		waiting++
	}
	for range waiting {
		must(t, (<-responses).Err)
	}
}

// anonymousMemory returns the process's anonymous memory, in MiB.
func anonymousMemory(t *testing.T) float64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	must(t, err)
	_, rest, _ := bytes.Cut(status, []byte("RssAnon:"))
	kilobytes, err := strconv.Atoi(string(bytes.Fields(rest)[0]))
	must(t, err)
	return float64(kilobytes) / 1024
}

// TestFiguresOfExports measures exports. It only checks that everything was exported.
func TestFiguresOfExports(t *testing.T) {
	if os.Getenv("MIZAN_FIGURES") == "" {
		t.Skip("MIZAN_FIGURES=1 measures")
	}
	f := newFixture(t)
	began := time.Now()
	fillJournal(t, f, exportedEntries)
	t.Logf("%d entries were booked in %v", exportedEntries, time.Since(began))
	f.restart() // releases the memory that booking took
	for _, name := range export.Names() {
		debug.FreeOSMemory()
		idle := anonymousMemory(t)
		began := time.Now()
		response := f.auditor().begin("format=" + name)
		done := make(chan float64)
		stop := make(chan struct{})
		go func() {
			peak, tick := 0.0, time.NewTicker(50*time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					peak = max(peak, anonymousMemory(t))
				case <-stop:
					done <- peak
					return
				}
			}
		}()
		size, err := io.Copy(io.Discard, response.Body)
		took := time.Since(began)
		close(stop)
		must(t, err)
		t.Logf("%s: %.1f s, %.0f MB, at most %.0f MiB above %.0f", name, took.Seconds(), float64(size)/1e6, <-done-idle, idle)
	}
}

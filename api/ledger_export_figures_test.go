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

// Exports are measured with payments of many partners. Each payment has five events and
// an entry of three postings, and one payment in ten begins with a hold.
const (
	measuredEntries   = 1_000_000
	measuredPartners  = 10_000
	paymentsPerChange = 100
)

// fillJournal books about the given number of entries.
func fillJournal(t *testing.T, f *fixture, entries int) {
	t.Helper()
	dollars := money.Asset{Currency: "USD", Env: money.Prod}
	receipts := make(chan posting.Receipt, 64)
	changesUnderWay := 0
	for bookedEntries := 0; bookedEntries < entries; {
		change := &posting.Change{Author: ledger.BySystem.Author()}
		for range paymentsPerChange {
			amount := uint64(1000 + bookedEntries%5000)
			entry := &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
				{Account: "A:provider:simulator", Asset: dollars, Side: ledger.Debit, Amount: money.FromUint64(amount)},
				{Account: ledger.PartnerAvailable(int64(bookedEntries%measuredPartners + 10)), Asset: dollars, Side: ledger.Credit, Amount: money.FromUint64(amount - 25)},
				{Account: ledger.Fees, Asset: dollars, Side: ledger.Credit, Amount: money.FromUint64(25)},
			}}
			bookedEntries++
			events := []ledger.Event{{Name: "create", To: "new"}, {Name: "route", From: "new", To: "routed"}, {Name: "submit", From: "routed", To: "charging"}, {Name: "answer", From: "charging", To: "charging"}}
			if bookedEntries%10 == 0 {
				hold := *entry
				hold.Phase = ledger.Pending
				entry.Phase, entry.Released = ledger.Capture, hold.Postings
				events[3] = ledger.Event{Name: "suspend", From: "charging", To: "held", Entry: &hold}
				bookedEntries++
			}
			events = append(events, ledger.Event{Name: "settle", From: "charging", To: "charged", Entry: entry})
			change.Steps = append(change.Steps, posting.Step{Org: f.seed.First.Org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()}, Events: events})
		}
		if changesUnderWay == cap(receipts) {
			must(t, (<-receipts).Err)
			changesUnderWay--
		}
		f.Journal.Submit(change, func(r posting.Receipt) { receipts <- r })
		changesUnderWay++
	}
	for range changesUnderWay {
		must(t, (<-receipts).Err)
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
	start := time.Now()
	fillJournal(t, f, measuredEntries)
	t.Logf("%d entries were booked in %v", measuredEntries, time.Since(start))
	f.restart() // releases the memory that booking took
	for _, name := range export.Names() {
		debug.FreeOSMemory()
		idleMemory := anonymousMemory(t)
		start := time.Now()
		response := f.auditor().beginExport("format=" + name)
		peakMemory := make(chan float64)
		stop := make(chan struct{})
		go func() {
			peak, tick := 0.0, time.NewTicker(50*time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					peak = max(peak, anonymousMemory(t))
				case <-stop:
					peakMemory <- peak
					return
				}
			}
		}()
		size, err := io.Copy(io.Discard, response.Body)
		duration := time.Since(start)
		close(stop)
		must(t, err)
		t.Logf("%s: %.1f s, %.0f MB, at most %.0f MiB above %.0f", name, duration.Seconds(), float64(size)/1e6, <-peakMemory-idleMemory, idleMemory)
	}
}

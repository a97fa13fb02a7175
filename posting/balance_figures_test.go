package posting_test

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/balances"
	"mizan/posting/store"
)

// The data with which queries of balances are measured, as on a busy server: figureEntries entries among figureAccounts
// accounts over figureDays days, in groups of figureGroupSize entries. Each entry has a posting on the bank's account and one
// on a random partner's account. One entry in ten captures an earlier hold, and one in a hundred takes effect on another day.
const (
	figureEntries   = 1_000_000
	figureAccounts  = 10_000
	figureDays      = 100
	figureGroupSize = 200
)

// openMeasuredJournal opens a journal with figureEntries entries. The environment variable MIZAN_FIGURES names a directory in
// which the journal is kept from run to run. If MIZAN_FIGURES is 1, the journal is made for this run only; if it is not set,
// the test is skipped.
func openMeasuredJournal(t *testing.T) *posting.Journal {
	dir := os.Getenv("MIZAN_FIGURES")
	switch dir {
	case "":
		t.Skip("a measurement: set MIZAN_FIGURES to 1, or to a directory that keeps the journal")
	case "1":
		dir = t.TempDir()
	}
	clock, discardLog := newClock(), slog.New(slog.DiscardHandler)
	closeJournal := func(j *posting.Journal) {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	open := func() *posting.Journal {
		j, err := posting.Open(posting.Options{Store: store.Options{Dir: dir, Log: discardLog}, Clock: clock, Log: discardLog})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	doneFile := filepath.Join(dir, "figures")
	if _, err := os.Stat(doneFile); err != nil {
		j, started := open(), time.Now()
		random := rand.New(rand.NewPCG(1, 2))
		for n := 0; n < figureEntries; n += figureGroupSize {
			answers := make(chan posting.Receipt, 1)
			j.Submit(groupOfEntries(random), func(r posting.Receipt) { answers <- r })
			if r := <-answers; r.Err != nil {
				t.Fatal(r.Err)
			}
			if err := clock.Set(clock.Now().Add(figureDays * 24 * time.Hour / (figureEntries / figureGroupSize))); err != nil {
				t.Fatal(err)
			}
		}
		closeJournal(j)
		t.Logf("made in %v", time.Since(started))
		if err := os.WriteFile(doneFile, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j := open()
	t.Cleanup(func() { closeJournal(j) })
	return j
}

// figureAccount returns the account of the n-th partner, counted from 0.
func figureAccount(n int64) ledger.Path { return ledger.PartnerAvailable(n + 1) }

// figureStep returns step n of a change. Its entry moves a random amount to an account. One entry in ten captures an earlier
// hold, and one in a hundred takes effect on another, random day.
func figureStep(random *rand.Rand, n int, account int64, days int) posting.Step {
	s := ledger.Source{Kind: ledger.Transfer}
	binary.BigEndian.PutUint64(s.ID[:], random.Uint64())
	binary.BigEndian.PutUint64(s.ID[8:], random.Uint64())
	size := 1 + random.Uint64N(1_000_000)
	postings := []ledger.Posting{line("A:bank", ledger.Debit, size), line(figureAccount(account), ledger.Credit, size)}
	entry := &ledger.Entry{Phase: ledger.Posted, Postings: postings}
	step := posting.Step{Org: org, Source: s, Events: []ledger.Event{{Name: "move", To: "done", Entry: entry}}}
	switch {
	case n%10 == 0:
		step.Source.Kind, step.Record = ledger.Settlement, []byte{1}
		hold := &ledger.Entry{Phase: ledger.Pending, Postings: postings}
		entry.Phase, entry.Released = ledger.Capture, postings
		step.Events = []ledger.Event{{Name: "hold", To: "held", Entry: hold}, step.Events[0]}
	case n%100 == 1:
		entry.Effective = ledger.DateOf(start) + ledger.Date(random.IntN(days))
	}
	return step
}

// groupOfEntries returns a change with figureGroupSize entries, which fills a group.
func groupOfEntries(random *rand.Rand) *posting.Change {
	c := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}
	for n := range figureGroupSize {
		c.Steps = append(c.Steps, figureStep(random, n, random.Int64N(figureAccounts-1), figureDays))
	}
	return c
}

// measure runs a query the given number of times, each time in a new view. It logs the median and the maximum of the
// durations. It also logs the CPU time of the process, which other processes affect less.
func measure(t *testing.T, name string, times int, query func(v *posting.View) error, j *posting.Journal) {
	t.Helper()
	var durations []time.Duration
	startCPU := cpuTime(t)
	for range times {
		v := j.View()
		started := time.Now()
		err := query(v)
		durations = append(durations, time.Since(started))
		v.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	cpu := (cpuTime(t) - startCPU) / time.Duration(times)
	slices.Sort(durations)
	t.Logf("%s: median %v, slowest %v of %d; CPU %v each", name, durations[len(durations)/2], durations[len(durations)-1], times, cpu)
}

// cpuTime returns the CPU time that the process has used.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// makeCheckpoints makes all checkpoints that are due, and returns their number. A trial balance starts from a checkpoint.
func makeCheckpoints(t *testing.T, j *posting.Journal) (count int) {
	t.Helper()
	var base balances.Checkpoint
	for {
		v := j.View()
		seq, due, err := balances.NextCheckpoint(v, org, &base)
		if err != nil {
			t.Fatal(err)
		}
		if !due {
			v.Close()
			return count
		}
		next, err := balances.BuildCheckpoint(v, org, &base, seq, func(row posting.KV) error {
			answers := make(chan posting.Receipt, 1)
			j.Submit(&posting.Change{KVs: []posting.KV{row}}, func(r posting.Receipt) { answers <- r })
			return (<-answers).Err
		})
		v.Close()
		if err != nil {
			t.Fatal(err)
		}
		base = *next
		count++
	}
}

func TestMeasureBalances(t *testing.T) {
	j := openMeasuredJournal(t)
	random := rand.New(rand.NewPCG(3, 4))
	span := figureDays * 24 * time.Hour
	readEveryAccount := func(v *posting.View, totals func(ledger.Account) (ledger.Totals, bool, error)) error {
		count := 0
		err := v.Accounts(org, "", usd.Env, func(a ledger.Account) (bool, error) {
			_, _, err := totals(a)
			count++
			return true, err
		})
		if err == nil && count != figureAccounts {
			err = fmt.Errorf("%d accounts", count)
		}
		return err
	}
	measure(t, "trial balance now, an account at a time", 3, func(v *posting.View) error {
		return readEveryAccount(v, func(a ledger.Account) (ledger.Totals, bool, error) { return v.TotalsAt(org, a, 1<<62) })
	}, j)
	measure(t, "trial balance at a time, an account at a time", 3, func(v *posting.View) error {
		at := ledger.MicrosOf(start.Add(time.Duration(random.Int64N(int64(span)))))
		return readEveryAccount(v, func(a ledger.Account) (ledger.Totals, bool, error) { return v.TotalsAt(org, a, at) })
	}, j)
	measure(t, "trial balance by effective date, an account at a time", 3, func(v *posting.View) error {
		day := ledger.DateOf(start) + ledger.Date(random.IntN(figureDays))
		return readEveryAccount(v, func(a ledger.Account) (ledger.Totals, bool, error) {
			return balances.Account(v, org, a, &balances.Query{EffectiveDate: day})
		})
	}, j)
	started := time.Now()
	checkpoints := makeCheckpoints(t, j)
	t.Logf("%d checkpoints in %v", checkpoints, time.Since(started))
	for _, c := range []struct {
		name     string
		newQuery func() balances.Query
		wantsAll bool
	}{
		{"trial balance now", func() balances.Query { return balances.Query{Env: usd.Env, At: 1 << 62} }, true},
		{"trial balance at a time", func() balances.Query {
			return balances.Query{Env: usd.Env, At: ledger.MicrosOf(start.Add(time.Duration(random.Int64N(int64(span)))))}
		}, true},
		{"trial balance by effective date", func() balances.Query {
			return balances.Query{Env: usd.Env, EffectiveDate: ledger.DateOf(start) + ledger.Date(random.IntN(figureDays))}
		}, true},
		{"a page of 500 accounts of the trial balance at a time", func() balances.Query {
			return balances.Query{Env: usd.Env, At: ledger.MicrosOf(start.Add(time.Duration(random.Int64N(int64(span))))), IsPaged: true,
				After: &ledger.Account{Path: figureAccount(random.Int64N(1000)), Asset: usd}}
		}, false},
	} {
		measure(t, c.name, 20, func(v *posting.View) error {
			q, count := c.newQuery(), 0
			err := new(balances.Reader).TrialBalance(v, org, q, func(ledger.Account, *ledger.Totals) (bool, error) {
				count++
				return c.wantsAll || count < 500, nil
			})
			if err == nil && c.wantsAll != (count > 500) {
				err = fmt.Errorf("%d accounts", count)
			}
			return err
		}, j)
	}
	for _, c := range []struct {
		name, prefix string
		maxAccounts  int
	}{{"one account", "L:partner:7777:", 1}, {"eleven accounts", "L:partner:123", 11}} {
		measure(t, c.name+" with a prefix at a time", 100, func(v *posting.View) error {
			q, count := balances.Query{Env: usd.Env, At: ledger.MicrosOf(start.Add(time.Duration(random.Int64N(int64(span))))), Prefix: c.prefix, IsPaged: true}, 0
			err := new(balances.Reader).TrialBalance(v, org, q, func(ledger.Account, *ledger.Totals) (bool, error) {
				count++
				return true, nil
			})
			if err == nil && count > c.maxAccounts {
				err = fmt.Errorf("%d accounts", count)
			}
			return err
		}, j)
	}
	measure(t, "trial balance at a time, in pages of 500, each in a view of its own", 5, func(*posting.View) error {
		q, total := balances.Query{Env: usd.Env, At: ledger.MicrosOf(start.Add(time.Duration(random.Int64N(int64(span))))), IsPaged: true}, 0
		reader := new(balances.Reader)
		for more := true; more; {
			v := j.View()
			count := 0
			err := reader.TrialBalance(v, org, q, func(a ledger.Account, _ *ledger.Totals) (bool, error) {
				q.After = &a
				count++
				return count < 500, nil
			})
			v.Close()
			if err != nil {
				return err
			}
			total, more = total+count, count == 500
		}
		if total < 500 {
			return fmt.Errorf("%d accounts", total)
		}
		return nil
	}, j)
	measure(t, "loading the page buffer", 3, func(v *posting.View) error {
		return v.BufferedPages(org, func(_, _ []byte) error { return nil })
	}, j)
	measure(t, "a statement's page from a random event on, with its events", 50, func(v *posting.View) error {
		beforeSeq := 1_000 + random.Uint64N(figureEntries-1_000)
		return readPage(func(next func() bool) error {
			return v.Lines(org, ledger.Account{Path: "A:bank", Asset: usd}, beforeSeq, func(l posting.Line) (bool, error) {
				_, _, _, err := v.Event(org, l.Seq)
				return next(), err
			})
		})
	}, j)
	measure(t, "a whole statement of a partner's account", 50, func(v *posting.View) error {
		lines := 0
		a := ledger.Account{Path: figureAccount(random.Int64N(figureAccounts - 1)), Asset: usd}
		err := v.Lines(org, a, 0, func(l posting.Line) (bool, error) {
			_, _, _, err := v.Event(org, l.Seq)
			lines++
			return lines < 100, err
		})
		if err == nil && lines < 50 {
			err = fmt.Errorf("%d lines", lines)
		}
		return err
	}, j)
	measure(t, "reading all events, for comparison", 2, func(v *posting.View) error {
		return v.EventsAscending(org, 1, func(ledger.Event, []byte) (bool, error) { return true, nil })
	}, j)
}

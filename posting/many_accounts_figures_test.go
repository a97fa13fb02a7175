package posting_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/balances"
	"mizan/posting/store"
)

// manyDays is the number of days over which the entries of TestMeasureManyAccounts spread.
const manyDays = 20

// accountBooks makes the entries of TestMeasureManyAccounts. Half of the entries are the first entry of an account, as in a
// bank that gains customers. So on most days only some of the accounts exist. The other half of the entries are on accounts
// that exist already. The accounts get their first entries in random order. One entry in ten captures an earlier hold, and
// one in a hundred takes effect on another day.
type accountBooks struct {
	random *rand.Rand
	order  []int // the accounts in the order of their first entries
	opened int
}

func (b *accountBooks) change(entries int) *posting.Change {
	c := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}
	for n := range entries {
		if n%2 == 0 && b.opened < len(b.order) {
			b.opened++
		}
		account := b.order[b.opened-1]
		if n%2 == 1 {
			account = b.order[b.random.IntN(b.opened)]
		}
		c.Steps = append(c.Steps, figureStep(b.random, n, int64(account), manyDays))
	}
	return c
}

// fillManyAccounts books two entries for each account.
func fillManyAccounts(t *testing.T, j *posting.Journal, clock *clock.Manual, accounts int) {
	const entriesOfChange, inFlight = 500, 8
	random := rand.New(rand.NewPCG(7, 8))
	books := &accountBooks{random: random, order: random.Perm(accounts)}
	changes := (2*accounts + entriesOfChange - 1) / entriesOfChange
	answers := make(chan posting.Receipt, inFlight)
	receive := func() {
		if r := <-answers; r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	for n := range changes {
		if n >= inFlight {
			receive()
		}
		j.Submit(books.change(entriesOfChange), func(r posting.Receipt) { answers <- r })
		if err := clock.Set(start.Add(time.Duration(n) * manyDays * 24 * time.Hour / time.Duration(changes))); err != nil {
			t.Fatal(err)
		}
	}
	for range min(inFlight, changes) {
		receive()
	}
}

// openManyAccounts opens a journal with as many accounts as MIZAN_ACCOUNTS says. MIZAN_FIGURES has the same meaning as in
// openMeasuredJournal.
func openManyAccounts(t *testing.T) (j *posting.Journal, accounts int) {
	dir := os.Getenv("MIZAN_FIGURES")
	accounts, _ = strconv.Atoi(os.Getenv("MIZAN_ACCOUNTS"))
	switch {
	case dir == "" || accounts <= 0:
		t.Skip("a measurement: set MIZAN_ACCOUNTS to a number such as 1000000, and MIZAN_FIGURES to 1 or to a directory that keeps the journal")
	case dir == "1":
		dir = t.TempDir()
	}
	dir = filepath.Join(dir, "accounts"+strconv.Itoa(accounts))
	clock, discardLog := newClock(), slog.New(slog.DiscardHandler)
	open := func() *posting.Journal {
		j, err := posting.Open(posting.Options{Store: store.Options{Dir: dir, Log: discardLog}, Clock: clock, Log: discardLog})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	doneFile := dir + ".done"
	if _, err := os.Stat(doneFile); err != nil {
		started := time.Now()
		j := open()
		fillManyAccounts(t, j, clock, accounts)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("made in %v", time.Since(started))
		if err := os.WriteFile(doneFile, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := clock.Set(start.Add(manyDays * 24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	j = open()
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j, accounts
}

// TestMeasureManyAccounts measures trial balances of very many accounts: single pages, at any time and by effective date on
// any day, and a whole trial balance.
func TestMeasureManyAccounts(t *testing.T) {
	j, accounts := openManyAccounts(t)
	random := rand.New(rand.NewPCG(3, 4))
	anyTime := func() ledger.Micros {
		return ledger.MicrosOf(start.Add(24*time.Hour + time.Duration(random.Int64N(int64((manyDays-1)*24*time.Hour)))))
	}
	anyDay := func() ledger.Date { return ledger.DateOf(start) + ledger.Date(random.IntN(manyDays)) }
	anywhere := func() *ledger.Account {
		return &ledger.Account{Path: figureAccount(random.Int64N(int64(accounts))), Asset: usd}
	}
	read := func(v *posting.View, q balances.Query, limit int) (count int, err error) {
		q.Env = usd.Env
		err = new(balances.Reader).TrialBalance(v, org, q, func(ledger.Account, *ledger.Totals) (bool, error) {
			count++
			return count < limit, nil
		})
		return count, err
	}
	measurePages := func(when string) {
		for _, c := range []struct {
			name     string
			newQuery func() balances.Query
		}{
			{"the first page on a day, by effective date", func() balances.Query { return balances.Query{EffectiveDate: anyDay()} }},
			{"the first page at a time", func() balances.Query { return balances.Query{At: anyTime()} }},
			{"the first page now", func() balances.Query { return balances.Query{At: 1 << 62} }},
			{"a page anywhere on a day, by effective date", func() balances.Query { return balances.Query{EffectiveDate: anyDay(), After: anywhere()} }},
			{"a page anywhere at a time", func() balances.Query { return balances.Query{At: anyTime(), After: anywhere()} }},
		} {
			measure(t, when+c.name, 20, func(v *posting.View) error {
				q := c.newQuery()
				q.IsPaged = true
				count, err := read(v, q, 500)
				if err == nil && count == 0 && q.After == nil {
					err = fmt.Errorf("no accounts")
				}
				return err
			}, j)
		}
	}
	measurePages("without checkpoints: ")
	runtime.GC()
	started, cpu := time.Now(), cpuTime(t)
	count := makeCheckpoints(t, j)
	t.Logf("%d checkpoints in %v, %v of CPU", count, time.Since(started), cpuTime(t)-cpu)
	measurePages("")
	measure(t, "the whole trial balance at a time", 3, func(v *posting.View) error {
		_, err := read(v, balances.Query{At: anyTime()}, 1<<62)
		return err
	}, j)
	measure(t, "the whole trial balance on a day, by effective date", 3, func(v *posting.View) error {
		_, err := read(v, balances.Query{EffectiveDate: anyDay()}, 1<<62)
		return err
	}, j)
}

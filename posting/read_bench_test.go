package posting_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

// The data of the read benchmarks: records of one partner, every second one changed once after
// its creation.
const benched = 200_000

// stocked returns a journal with all of them in tables on the disk.
func stocked(b *testing.B) (*posting.Journal, []ledger.Source) {
	b.Helper()
	quiet, dir := slog.New(slog.DiscardHandler), b.TempDir()
	open := func() *posting.Journal {
		j, err := posting.Open(posting.Options{Store: store.Options{Dir: dir, Log: quiet}, Clock: newClock(), Log: quiet})
		if err != nil {
			b.Fatal(err)
		}
		return j
	}
	shut := func(j *posting.Journal) {
		if err := j.Close(); err != nil {
			b.Error(err)
		}
	}
	j := open()
	sources := stock(b, j)
	shut(j)
	j = open()
	b.Cleanup(func() { shut(j) })
	return j, sources
}

func stock(b *testing.B, j *posting.Journal) (sources []ledger.Source) {
	var left sync.WaitGroup
	submit := func(c *posting.Change) {
		left.Add(1)
		j.Submit(c, func(r posting.Receipt) {
			if r.Err != nil {
				b.Error(r.Err)
			}
			left.Done()
		})
	}
	for len(sources) < benched {
		created, moved := &posting.Change{MustRecord: true}, &posting.Change{MustRecord: true}
		for i := range 100 {
			s := newTransaction()
			sources = append(sources, s)
			step := lists(s, 0, 1).Steps[0]
			step.Record = make([]byte, 350+int(s.ID[0]))
			created.Steps = append(created.Steps, step)
			if i%2 == 0 {
				step.Expect, step.Events = 1, slices.Clone(step.Events)
				moved.Steps = append(moved.Steps, step)
			}
		}
		submit(created)
		submit(moved)
	}
	left.Wait()
	return sources
}

// BenchmarkReadPage reads 100 random records, as a page of a list does.
func BenchmarkReadPage(b *testing.B) {
	j, sources := stocked(b)
	random := rand.New(rand.NewPCG(1, 2))
	measured(b, func() {
		v := j.View()
		defer v.Close()
		for range 100 {
			if _, found, err := v.Record(org, sources[random.IntN(benched)]); err != nil || !found {
				b.Fatal(found, err)
			}
		}
	})
}

// BenchmarkWalkList reads the rows of 100 creations, beginning anywhere in a list.
func BenchmarkWalkList(b *testing.B) {
	j, sources := stocked(b)
	random := rand.New(rand.NewPCG(1, 2))
	measured(b, func() {
		v := j.View()
		defer v.Close()
		r, _, err := v.Record(org, sources[100+random.IntN(benched-100)])
		if err != nil {
			b.Fatal(err)
		}
		left := 100
		err = v.List(org, shown, posting.Walk{First: true, Before: r.Stamp.Updated + 1}, func(posting.Listed) (bool, error) {
			left--
			return left > 0, nil
		})
		if err != nil || left > 0 {
			b.Fatal(left, err)
		}
	})
}

// measured reports the median and the maximum duration of calls.
func measured(b *testing.B, call func()) {
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		started := time.Now()
		call()
		took = append(took, time.Since(started))
	}
	slices.Sort(took)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(took[len(took)*p/100].Microseconds()), fmt.Sprintf("µs-p%d", p))
	}
}

// BenchmarkWalkRecords walks over all transactions of an organization.
func BenchmarkWalkRecords(b *testing.B) {
	j, _ := stocked(b)
	b.ReportAllocs()
	for b.Loop() {
		v := j.View()
		records := 0
		err := v.Records(org, ledger.Transaction, func(ledger.ID, posting.Record) (bool, error) {
			records++
			return true, nil
		})
		v.Close()
		if err != nil || records != benched {
			b.Fatal(records, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benched), "ns/record")
}

// The data of the page-buffer benchmarks: as many groups as page buffers hold, each with so many
// payments of so many partners. The first few partners have a tenth of the payments.
const (
	paymentsInGroup = 100
	partners        = 10_000
	busyPartners    = 10
)

// diarized returns a journal, just opened, with the page buffers of so many groups (as in
// posting.Options.BufferedGroups; -1: everything is on stored pages).
func diarized(b *testing.B, days int) *posting.Journal {
	b.Helper()
	quiet, dir := slog.New(slog.DiscardHandler), b.TempDir()
	open := func() *posting.Journal {
		j, err := posting.Open(posting.Options{Store: store.Options{Dir: dir, Log: quiet}, Clock: newClock(), Log: quiet, BufferedGroups: days})
		if err != nil {
			b.Fatal(err)
		}
		return j
	}
	shut := func(j *posting.Journal) {
		if err := j.Close(); err != nil {
			b.Error(err)
		}
	}
	j, random := open(), rand.New(rand.NewPCG(1, 2))
	for range posting.MaxDays {
		done := make(chan posting.Receipt)
		j.Submit(payments(random), func(r posting.Receipt) { done <- r })
		if r := <-done; r.Err != nil {
			b.Fatal(r.Err)
		}
	}
	shut(j)
	started := time.Now()
	j = open()
	b.Logf("opened in %v", time.Since(started))
	b.Cleanup(func() { shut(j) })
	return j
}

// payments returns a group of payments: each is listed, and moves money between its partner, one
// of three terminals and the fees.
func payments(random *rand.Rand) *posting.Change {
	c := &posting.Change{MustRecord: true}
	for n := range paymentsInGroup {
		partner := random.Int64N(partners)
		if n%10 == 0 {
			partner = random.Int64N(busyPartners)
		}
		step := lists(newTransaction(), 0, 1).Steps[0]
		step.Record, step.List = make([]byte, 350), listOf(partner, 1)
		step.Events[0].Entry = &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
			line(ledger.Path(fmt.Sprintf("A:provider:%08x-0000-4000-8000-%012x", partner, random.IntN(3))), ledger.Debit, 10_000),
			line(ledger.PartnerAvailable(partner), ledger.Credit, 9_700), line(ledger.Fees, ledger.Credit, 300),
		}}
		c.Steps = append(c.Steps, step)
	}
	return c
}

// BenchmarkReadPageBuffer runs the API's queries with a full page buffer and, for comparison,
// with an empty one: each time in a new view.
func BenchmarkReadPageBuffer(b *testing.B) {
	for _, way := range []struct {
		name string
		days int
	}{{"in-the-page buffer", posting.MaxDays}, {"on-pages", -1}} {
		b.Run(way.name, func(b *testing.B) {
			j := diarized(b, way.days)
			for _, q := range questions(rand.New(rand.NewPCG(3, 4))) {
				b.Run(q.name, func(b *testing.B) {
					measured(b, func() {
						v := j.View()
						defer v.Close()
						if err := q.ask(v); err != nil {
							b.Fatal(err)
						}
					})
				})
			}
		})
	}
}

// question is a query of the API.
type question struct {
	name string
	ask  func(v *posting.View) error
}

func questions(random *rand.Rand) []question {
	anybody := func() ledger.Account {
		return ledger.Account{Path: ledger.PartnerAvailable(random.Int64N(partners)), Asset: usd}
	}
	return []question{
		{"balance", func(v *posting.View) error {
			_, err := v.Totals(org, anybody())
			return err
		}},
		{"statement", func(v *posting.View) error {
			return statement(v, ledger.PartnerAvailable(random.Int64N(busyPartners)))
		}},
		{"statement-of-fees", func(v *posting.View) error {
			return statement(v, ledger.Fees)
		}},
		{"list", func(v *posting.View) error {
			return full(func(next func() bool) error {
				list := listOf(random.Int64N(busyPartners), 1)
				return v.List(org, list, posting.Walk{First: true}, func(posting.Listed) (bool, error) { return next(), nil })
			})
		}},
		{"accounts-of-a-partner", func(v *posting.View) error {
			a := anybody()
			return v.Accounts(org, string(a.Path), a.Asset.Env, func(ledger.Account) (bool, error) { return true, nil })
		}},
		{"trial-balance", func(v *posting.View) error {
			var debits, credits money.Amount
			err := v.Accounts(org, "", usd.Env, func(a ledger.Account) (bool, error) {
				t, err := v.Totals(org, a)
				if err == nil {
					debits, err = debits.Add(t.DebitsPosted)
				}
				if err == nil {
					credits, err = credits.Add(t.CreditsPosted)
				}
				return true, err
			})
			if err == nil && (debits != credits || debits.IsZero()) {
				err = fmt.Errorf("debits are %v, credits %v", debits, credits)
			}
			return err
		}},
	}
}

// statement reads the newest lines of an account.
func statement(v *posting.View, path ledger.Path) error {
	return full(func(next func() bool) error {
		return v.Lines(org, ledger.Account{Path: path, Asset: usd}, 0, func(posting.Line) (bool, error) { return next(), nil })
	})
}

// full reads a page of 100 rows, which must exist.
func full(read func(next func() bool) error) error {
	left := 100
	err := read(func() bool { left--; return left > 0 })
	if err == nil && left > 0 {
		err = fmt.Errorf("%d rows are missing", left)
	}
	return err
}

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

// recordCount is the number of records in the data of the read benchmarks. All belong to one partner. Every second
// record was changed once after its creation.
const recordCount = 200_000

// openWithRecords returns a journal with recordCount records. The journal was closed and opened again, so that the
// records are in the store's files.
func openWithRecords(b *testing.B) (*posting.Journal, []ledger.Source) {
	b.Helper()
	discardLog, dir := slog.New(slog.DiscardHandler), b.TempDir()
	open := func() *posting.Journal {
		j, err := posting.Open(posting.Options{Store: store.Options{Dir: dir, Log: discardLog}, Clock: newClock(), Log: discardLog})
		if err != nil {
			b.Fatal(err)
		}
		return j
	}
	closeJournal := func(j *posting.Journal) {
		if err := j.Close(); err != nil {
			b.Error(err)
		}
	}
	j := open()
	sources := submitRecords(b, j)
	closeJournal(j)
	j = open()
	b.Cleanup(func() { closeJournal(j) })
	return j, sources
}

func submitRecords(b *testing.B, j *posting.Journal) (sources []ledger.Source) {
	var pending sync.WaitGroup
	submit := func(c *posting.Change) {
		pending.Add(1)
		j.Submit(c, func(r posting.Receipt) {
			if r.Err != nil {
				b.Error(r.Err)
			}
			pending.Done()
		})
	}
	for len(sources) < recordCount {
		creation, secondChange := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}, &posting.Change{MustRecord: true}
		for i := range 100 {
			s := newTransaction()
			sources = append(sources, s)
			step := changeOfListed(s, 0, 1).Steps[0]
			step.Record = make([]byte, 350+int(s.ID[0]))
			creation.Steps = append(creation.Steps, step)
			if i%2 == 0 {
				step.Expect, step.Events = 1, slices.Clone(step.Events)
				secondChange.Steps = append(secondChange.Steps, step)
			}
		}
		submit(creation)
		submit(secondChange)
	}
	pending.Wait()
	return sources
}

// BenchmarkReadPage reads 100 random records, as many as one page of an API list has.
func BenchmarkReadPage(b *testing.B) {
	j, sources := openWithRecords(b)
	random := rand.New(rand.NewPCG(1, 2))
	reportDurations(b, func() {
		v := j.View()
		defer v.Close()
		for range 100 {
			if _, found, err := v.Record(org, sources[random.IntN(recordCount)]); err != nil || !found {
				b.Fatal(found, err)
			}
		}
	})
}

// BenchmarkWalkList reads 100 rows of a list from a random place on. It reads only the rows of records' creations.
func BenchmarkWalkList(b *testing.B) {
	j, sources := openWithRecords(b)
	random := rand.New(rand.NewPCG(1, 2))
	reportDurations(b, func() {
		v := j.View()
		defer v.Close()
		r, _, err := v.Record(org, sources[100+random.IntN(recordCount-100)])
		if err != nil {
			b.Fatal(err)
		}
		remaining := 100
		err = v.List(org, testList, posting.ListRange{OnlyCreations: true, Before: r.Header.UpdatedAt + 1}, func(posting.ListRow) (bool, error) {
			remaining--
			return remaining > 0, nil
		})
		if err != nil || remaining > 0 {
			b.Fatal(remaining, err)
		}
	})
}

// reportDurations calls fn in each run of the benchmark, and reports the median and the 99th percentile of the
// durations.
func reportDurations(b *testing.B, fn func()) {
	var durations []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		started := time.Now()
		fn()
		durations = append(durations, time.Since(started))
	}
	slices.Sort(durations)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(durations[len(durations)*p/100].Microseconds()), fmt.Sprintf("µs-p%d", p))
	}
}

// BenchmarkWalkRecords walks over all transactions of an organization.
func BenchmarkWalkRecords(b *testing.B) {
	j, _ := openWithRecords(b)
	b.ReportAllocs()
	for b.Loop() {
		v := j.View()
		records := 0
		err := v.Records(org, ledger.Transaction, func(ledger.ID, posting.Record) (bool, error) {
			records++
			return true, nil
		})
		v.Close()
		if err != nil || records != recordCount {
			b.Fatal(records, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*recordCount), "ns/record")
}

// The data of the page-buffer benchmarks: as many groups as the page buffer (rows with lines that are on no
// stored page yet) holds at most, each with paymentsInGroup payments of random partners. A tenth of the
// payments are of the first busyPartnerCount partners.
const (
	paymentsInGroup  = 100
	partnerCount     = 10_000
	busyPartnerCount = 10
)

// openWithPageBuffer returns a journal that was just opened. Its page buffer has at most maxGroups groups. If maxGroups is
// -1, everything is on stored pages.
func openWithPageBuffer(b *testing.B, maxGroups int) *posting.Journal {
	b.Helper()
	discardLog, dir := slog.New(slog.DiscardHandler), b.TempDir()
	open := func() *posting.Journal {
		j, err := posting.Open(posting.Options{Store: store.Options{Dir: dir, Log: discardLog}, Clock: newClock(), Log: discardLog, BufferedGroups: maxGroups})
		if err != nil {
			b.Fatal(err)
		}
		return j
	}
	closeJournal := func(j *posting.Journal) {
		if err := j.Close(); err != nil {
			b.Error(err)
		}
	}
	j, random := open(), rand.New(rand.NewPCG(1, 2))
	for range posting.MaxBufferedGroups {
		done := make(chan posting.Receipt)
		j.Submit(payments(random), func(r posting.Receipt) { done <- r })
		if r := <-done; r.Err != nil {
			b.Fatal(r.Err)
		}
	}
	closeJournal(j)
	started := time.Now()
	j = open()
	b.Logf("opened in %v", time.Since(started))
	b.Cleanup(func() { closeJournal(j) })
	return j
}

// payments returns a change with paymentsInGroup payments, which fills a group. Each payment is in a list. It moves money
// between three accounts: one of its partner's three terminals, the partner's balance, and the fees.
func payments(random *rand.Rand) *posting.Change {
	c := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}
	for n := range paymentsInGroup {
		partner := random.Int64N(partnerCount)
		if n%10 == 0 {
			partner = random.Int64N(busyPartnerCount)
		}
		step := changeOfListed(newTransaction(), 0, 1).Steps[0]
		step.Record, step.List = make([]byte, 350), listOf(partner, 1)
		step.Events[0].Entry = &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
			line(ledger.Path(fmt.Sprintf("A:provider:%08x-0000-4000-8000-%012x", partner, random.IntN(3))), ledger.Debit, 10_000),
			line(ledger.PartnerAvailable(partner), ledger.Credit, 9_700), line(ledger.Fees, ledger.Credit, 300),
		}}
		c.Steps = append(c.Steps, step)
	}
	return c
}

// BenchmarkReadPageBuffer runs queries of the API with a full page buffer and, for comparison, with an empty one. Each query
// has a new view.
func BenchmarkReadPageBuffer(b *testing.B) {
	for _, c := range []struct {
		name      string
		maxGroups int
	}{{"in-the-page-buffer", posting.MaxBufferedGroups}, {"on-pages", -1}} {
		b.Run(c.name, func(b *testing.B) {
			j := openWithPageBuffer(b, c.maxGroups)
			for _, q := range apiQueries(rand.New(rand.NewPCG(3, 4))) {
				b.Run(q.name, func(b *testing.B) {
					reportDurations(b, func() {
						v := j.View()
						defer v.Close()
						if err := q.run(v); err != nil {
							b.Fatal(err)
						}
					})
				})
			}
		})
	}
}

// apiQuery is a query as the API makes it.
type apiQuery struct {
	name string
	run  func(v *posting.View) error
}

func apiQueries(random *rand.Rand) []apiQuery {
	randomAccount := func() ledger.Account {
		return ledger.Account{Path: ledger.PartnerAvailable(random.Int64N(partnerCount)), Asset: usd}
	}
	return []apiQuery{
		{"balance", func(v *posting.View) error {
			_, err := v.Totals(org, randomAccount())
			return err
		}},
		{"statement", func(v *posting.View) error {
			return readStatement(v, ledger.PartnerAvailable(random.Int64N(busyPartnerCount)))
		}},
		{"statement-of-fees", func(v *posting.View) error {
			return readStatement(v, ledger.Fees)
		}},
		{"list", func(v *posting.View) error {
			return readPage(func(next func() bool) error {
				list := listOf(random.Int64N(busyPartnerCount), 1)
				return v.List(org, list, posting.ListRange{OnlyCreations: true}, func(posting.ListRow) (bool, error) { return next(), nil })
			})
		}},
		{"accounts-of-a-partner", func(v *posting.View) error {
			a := randomAccount()
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

// readStatement reads the newest lines of an account.
func readStatement(v *posting.View, path ledger.Path) error {
	return readPage(func(next func() bool) error {
		return v.Lines(org, ledger.Account{Path: path, Asset: usd}, 0, func(posting.Line) (bool, error) { return next(), nil })
	})
}

// readPage calls read with a function next, as a query calls it for each row. It fails unless there are 100 rows: next
// returns false after the last of them.
func readPage(read func(next func() bool) error) error {
	remaining := 100
	err := read(func() bool { remaining--; return remaining > 0 })
	if err == nil && remaining > 0 {
		err = fmt.Errorf("%d rows are missing", remaining)
	}
	return err
}

package turnover_test

import (
	"testing"
	"time"

	turnoveractor "mizan/actors/turnover"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/turnover"
)

func openBenchmark(b *testing.B) *fixture {
	f := &fixture{World: testkit.NewWorld(b, start), t: b, want: make(map[ledger.ID]map[turnover.PartnerDay]turnover.Day)}
	f.Open()
	f.follow(0)
	return f
}

// BenchmarkCount counts payments of two events each. The store still holds them in memory, as on a running server.
func BenchmarkCount(b *testing.B) {
	f := openBenchmark(b)
	const payments = 10_000
	for range payments / 100 {
		f.book(firstOrg, 1, usd, make([]uint64, 100)...)
	}
	for b.Loop() {
		f.follow(2 * payments)
		f.count()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/payments, "µs/payment")
}

// BenchmarkRead reads thirty stored days of one of a thousand partners.
func BenchmarkRead(b *testing.B) {
	f := openBenchmark(b)
	for range 30 {
		for partner := range int64(1_000) {
			f.book(firstOrg, 1+partner, usd, 10, 20)
		}
		f.count()
		must(b, f.Clock.Set(f.Clock.Now().Add(24*time.Hour)))
	}
	q := turnoveractor.Query{Org: firstOrg, Env: money.Prod, Partner: 500, From: ledger.DateOf(start), To: ledger.DateOf(start) + 29}
	for b.Loop() {
		if days, _, err := f.counter.Read(q); err != nil || len(days) != 30 {
			b.Fatalf("%d days, %v", len(days), err)
		}
	}
}

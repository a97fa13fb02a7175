package search_test

import (
	"fmt"
	"testing"

	searchactor "mizan/actors/search"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/search"
)

// bookMany stores payments, each with a value in four fields. The values come from consecutive numbers, of which first is the
// first one.
func (f *fixture) bookMany(first, payments int) {
	const batch = 100
	for at := first; at < first+payments; at += batch {
		var records []*payment.Record
		for n := at; n < at+batch; n++ {
			records = append(records, &payment.Record{RRN: fmt.Sprintf("%012d", n), Status: payment.Charged, Request: payment.Request{
				TxID: fmt.Sprint("order-", n), CardLast4: fmt.Sprintf("%04d", n%10_000), Customer: fmt.Appendf(nil, `{"email":"payer%d@shop.example","name":"A B"}`, n),
			}})
		}
		f.book(firstOrg, records...)
		if at%10_000 == 0 {
			f.booked = make(map[ledger.ID][]*payment.Record) // only the index is measured
		}
	}
}

// BenchmarkFind finds a text in an index with a million entries, of 250,000 payments.
func BenchmarkFind(b *testing.B) {
	f := open(b, searchactor.MinUnstored)
	for n := range 125 {
		f.bookMany(2_000*n, 2_000)
		f.run()
	}
	view := f.follower.View()
	rows, size := 0, 0
	must(b, view.KVsAscending(firstOrg, search.RowPrefix(), nil, func(key, value []byte) (bool, error) {
		rows, size = rows+1, size+len(key)+len(value)
		return true, nil
	}))
	view.Close()
	entries, _ := f.index.InMemory()
	for _, c := range []struct {
		name, text string
		found      int
	}{{"nothing", "nothing-has-it", 0}, {"email", "payer7777@shop.example", 1}, {"last4", "4242", 25}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				n := 0
				if complete, err := f.index.Find(firstOrg, c.text, func(searchactor.Match) bool { n++; return n < 50 }); err != nil || !complete || n != c.found {
					b.Fatalf("%d found, complete: %v, %v", n, complete, err)
				}
			}
			b.ReportMetric(float64(rows), "rows")
			b.ReportMetric(float64(size)/(250_000-float64(entries)/4), "B/payment")
		})
	}
}

// BenchmarkIndex indexes payments of two events each. The store still holds them in memory, as on a running server.
func BenchmarkIndex(b *testing.B) {
	f := open(b, searchactor.MinUnstored)
	const payments = 10_000
	f.bookMany(0, payments)
	for b.Loop() {
		f.follow(1_000_000)
		f.run()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/payments, "µs/payment")
}

package api_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"mizan/ledger/payment"
)

// BenchmarkTransactions measures reads of a partner that has 200,000 transactions, half of
// which changed once after their creation. The reads are over HTTP on loopback and include the
// client's work.
func BenchmarkTransactions(b *testing.B) {
	f := newFixture(b)
	const n, part = 200_000, 5_000
	records := make([]*payment.Record, n)
	for i := range records {
		records[i] = newSale("USD", "", "1250", "31", "1219", "0", payment.Charging)
		records[i].TxID, records[i].Described, records[i].Description = fmt.Sprintf("order-%012d", i), true, "Shoes"
		records[i].MerchantMeta, records[i].Customer = []byte(`{"basket":[1,2,3]}`), []byte(`{"email":"somebody@shop.example"}`)
	}
	for created := range slices.Chunk(records, part) {
		f.storeVersion(0, 4, created...)
		rand.Shuffle(part, func(i, k int) { created[i], created[k] = created[k], created[i] })
		for _, r := range created[:part/2] {
			r.Status = payment.Charged
		}
		f.storeVersion(4, 1, created[:part/2]...)
	}
	// Each transaction was created by four events and half of them changed, so booked times advance by
	// 4.5 µs for each transaction on average.
	after := func(tenths int) string {
		return url.QueryEscape(began.Add(n * 9 / 20 * time.Microsecond * time.Duration(tenths)).Format(time.RFC3339Nano))
	}
	for _, c := range []struct{ name, path string }{
		{"page of 20", transactions},
		{"page of 100", transactions + "?limit=100"},
		{"page of 100 in the middle", transactions + "?limit=100&cursor=" + after(5)},
		{"page of 100 by update", transactions + "?limit=100&order_by=updated"},
		{"page of 100 that few match", transactions + "?limit=100&status=rejected"},
		{"aggregate of all records", aggregate},
		{"aggregate of a fifth by the index", aggregate + "?started_from=" + after(8)},
		{"balances", balancesPath},
	} {
		b.Run(c.name, func(b *testing.B) { f.measure(b, c.path) })
	}
}

func (f *fixture) measure(b *testing.B, path string) {
	r, err := http.NewRequest("GET", "http://"+f.address+path, nil)
	must(b, err)
	for name, value := range f.partner().headers {
		r.Header.Set(name, value)
	}
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		response, err := transport.RoundTrip(r)
		must(b, err)
		if response.StatusCode != 200 {
			b.Fatal(response.Status)
		}
		_, err = io.Copy(io.Discard, response.Body)
		must(b, err)
		must(b, response.Body.Close())
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(took[len(took)*p/100].Microseconds()), fmt.Sprintf("µs-p%d", p))
	}
}

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
	const total, chunk = 200_000, 5_000
	records := make([]*payment.Record, total)
	for i := range records {
		records[i] = newSale("USD", "", "1250", "31", "1219", "0", payment.Charging)
		records[i].TxID, records[i].HasDescription, records[i].Description = fmt.Sprintf("order-%012d", i), true, "Shoes"
		records[i].MerchantMeta, records[i].Customer = []byte(`{"basket":[1,2,3]}`), []byte(`{"email":"somebody@shop.example"}`)
	}
	for chunkRecords := range slices.Chunk(records, chunk) {
		f.storeVersion(0, 4, chunkRecords...)
		rand.Shuffle(chunk, func(i, k int) { chunkRecords[i], chunkRecords[k] = chunkRecords[k], chunkRecords[i] })
		for _, r := range chunkRecords[:chunk/2] {
			r.Status = payment.Charged
		}
		f.storeVersion(4, 1, chunkRecords[:chunk/2]...)
	}
	// cursorAt returns a cursor: the time by which the given tenths of the transactions had been booked. Each event is booked 1
	// µs after the previous one. A transaction has four events, or five if it changed later: 4.5 on average.
	cursorAt := func(tenths int) string {
		return url.QueryEscape(began.Add(total * 9 / 20 * time.Microsecond * time.Duration(tenths)).Format(time.RFC3339Nano))
	}
	for _, c := range []struct{ name, path string }{
		{"page of 20", transactions},
		{"page of 100", transactions + "?limit=100"},
		{"page of 100 in the middle", transactions + "?limit=100&cursor=" + cursorAt(5)},
		{"page of 100 by update", transactions + "?limit=100&order_by=updated"},
		{"page of 100 that few match", transactions + "?limit=100&status=rejected"},
		{"aggregate of all records", aggregate},
		{"aggregate of a fifth by the index", aggregate + "?started_from=" + cursorAt(8)},
		{"balances", balancesPath},
	} {
		b.Run(c.name, func(b *testing.B) { f.measure(b, c.path) })
	}
}

// measure reports the median and the 99th percentile of the times that reads of the path take.
func (f *fixture) measure(b *testing.B, path string) {
	request, err := http.NewRequest("GET", "http://"+f.address+path, nil)
	must(b, err)
	for name, value := range f.partner().headers {
		request.Header.Set(name, value)
	}
	var durations []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		response, err := plainTransport.RoundTrip(request)
		must(b, err)
		if response.StatusCode != 200 {
			b.Fatal(response.Status)
		}
		_, err = io.Copy(io.Discard, response.Body)
		must(b, err)
		must(b, response.Body.Close())
		durations = append(durations, time.Since(began))
	}
	slices.Sort(durations)
	for _, percentile := range []int{50, 99} {
		b.ReportMetric(float64(durations[len(durations)*percentile/100].Microseconds()), fmt.Sprintf("µs-p%d", percentile))
	}
}

package payment_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"mizan/ledger/payment"
)

// BenchmarkCreate drives complete payments through the service, without HTTP.
func BenchmarkCreate(b *testing.B) {
	for _, parallel := range []int{1, 128} {
		b.Run(fmt.Sprint(parallel*2), func(b *testing.B) {
			h := open(b)
			var n atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(parallel)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					c := request(payment.Payment, "4242424242424242", 100, fmt.Sprint("b", n.Add(1)))
					c.Partner = h.partner
					if r, err := h.Create(c); err != nil || r.Record.Status != payment.Charged {
						b.Error(err)
						return
					}
				}
			})
			s := &h.journal.Stats
			b.ReportMetric(float64(s.Rows.Load())/float64(n.Load()), "rows/op")
			b.ReportMetric(float64(s.Bytes.Load())/float64(n.Load()), "B/op-store")
			b.ReportMetric(float64(s.Changes.Load())/float64(s.Groups.Load()), "changes/group")
			b.ReportMetric(float64(s.Apply.Load())/float64(s.Groups.Load())/1e3, "µs/apply")
			b.ReportMetric(float64(s.Prepare.Load())/float64(s.Groups.Load())/1e3, "µs/prepare")
		})
	}
}

package payment_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// BenchmarkCreate drives complete payments through the service, without HTTP.
func BenchmarkCreate(b *testing.B) {
	volumeLimits := []*directory.Limit{limit(directory.DailyVolume, 1<<60, nil), limit(directory.MonthlyVolume, 1<<60, nil)}
	velocityLimits := []*directory.Limit{limit(directory.Velocity, 100_000, nil)}
	for _, run := range []struct {
		name     string // number of concurrent requests on two cores, and the kind of limits
		parallel int
		limits   []*directory.Limit
	}{
		{"2", 1, nil}, {"256", 128, nil}, {"256 under volumes", 128, volumeLimits}, {"256 under a velocity", 128, velocityLimits},
	} {
		b.Run(run.name, func(b *testing.B) {
			parallel := run.parallel
			f := openWith(b, func(f *fixture) { f.limits = run.limits })
			var creates atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(parallel)
			b.ResetTimer() // the time of the start does not count
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					create := request(payment.Payment, "4242424242424242", 100, fmt.Sprint("b", creates.Add(1)))
					create.Partner = f.partner
					if r, err := f.Create(create); err != nil || r.Record.Status != payment.Charged {
						b.Error(err)
						return
					}
				}
			})
			stats := &f.Journal.Stats
			b.ReportMetric(float64(stats.Rows.Load())/float64(creates.Load()), "rows/op")
			b.ReportMetric(float64(stats.Bytes.Load())/float64(creates.Load()), "B/op-store")
			b.ReportMetric(float64(stats.Changes.Load())/float64(stats.Groups.Load()), "changes/group")
			b.ReportMetric(float64(stats.Apply.Load())/float64(stats.Groups.Load())/1e3, "µs/apply")
			b.ReportMetric(float64(stats.Prepare.Load())/float64(stats.Groups.Load())/1e3, "µs/prepare")
		})
	}
}

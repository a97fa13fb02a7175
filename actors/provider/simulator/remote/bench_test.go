package remote

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"mizan/ledger/payment"
)

// BenchmarkSubmit measures concurrent callers of a simulator, both sides of the connection in one process. The log is in
// memory, if possible, so the figure is the cost of the connection and of the simulator, and not of a disk.
func BenchmarkSubmit(b *testing.B) {
	for _, callers := range []int{1, 16, 128} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			served := serve(b)
			p := served.provider()
			var n atomic.Uint64
			var running sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range callers {
				running.Go(func() {
					for i := n.Add(1); i <= uint64(b.N); i = n.Add(1) {
						wantVerdict(b, "a call", submit(p, cardCall(i, goodCard)), payment.VerdictCharged)
					}
				})
			}
			running.Wait()
		})
	}
}

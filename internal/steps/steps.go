package steps

import "sync/atomic"

// total is the sum of all steps; nil outside tests.
var total *atomic.Int64

// Count begins counting, for the rest of the process. Only the initialization of a test binary
// may call it: it is not safe after a parser has started.
func Count() { total = new(atomic.Int64) }

// Took reports that n bytes were examined.
func Took(n int) {
	if total != nil {
		total.Add(int64(n))
	}
}

// Total returns the number of bytes examined since Count; 0 without Count.
func Total() int64 {
	if total == nil {
		return 0
	}
	return total.Load()
}

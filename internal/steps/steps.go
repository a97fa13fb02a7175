package steps

import "sync/atomic"

// total is the sum of all steps; nil outside tests.
var total *atomic.Int64

// Enable begins counting, for the rest of the process. Only an init function of a test may call it, because it is not safe
// after a parser has started.
func Enable() { total = new(atomic.Int64) }

// Add reports that n bytes were examined.
func Add(n int) {
	if total != nil {
		total.Add(int64(n))
	}
}

// Total returns the number of bytes examined since Enable was called; 0 if it was not called.
func Total() int64 {
	if total == nil {
		return 0
	}
	return total.Load()
}

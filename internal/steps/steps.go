package steps

import "sync/atomic"

// total is the number of bytes examined so far. It is nil outside tests.
var total *atomic.Int64

// Enable starts counting, for the rest of the process. Only an init function of a test may call Enable, because a call while a
// parser runs is a data race.
func Enable() { total = new(atomic.Int64) }

// Add reports that n bytes were examined.
func Add(n int) {
	if total != nil {
		total.Add(int64(n))
	}
}

// Total returns the number of bytes examined since Enable was called, or 0 if Enable was not called.
func Total() int64 {
	if total == nil {
		return 0
	}
	return total.Load()
}

package steps

import "sync/atomic"

// total is where the steps are added up; nil outside tests.
var total *atomic.Int64

// Count begins counting, for the life of the process. It is for the initialisation
// of a test binary only: it is not safe once a reader runs.
func Count() { total = new(atomic.Int64) }

// Took reports n bytes that were looked at.
func Took(n int) {
	if total != nil {
		total.Add(int64(n))
	}
}

// Total is the number of bytes looked at since Count; 0 without it.
func Total() int64 {
	if total == nil {
		return 0
	}
	return total.Load()
}

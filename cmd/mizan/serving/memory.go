package serving

import (
	"os"
	"runtime/debug"
	"time"
)

// memoryLimit is the memory use above which the garbage collector runs more often. A flush of a memtable briefly needs buffers
// of a few hundred MiB, and twice as much memory until the collector frees the buffers.
const memoryLimit = 1 << 30

// LimitMemory sets the soft memory limit of Go's runtime to memoryLimit. If GOMEMLIMIT is set, the limit in that variable
// applies instead.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// idleCheckInterval is the interval at which the server checks whether the journal's writer is idle.
const idleCheckInterval = 10 * time.Second

// idleDetector detects the end of a burst of changes: a whole interval without a change.
type idleDetector struct {
	lastChanges   uint64 // total number of changes at the last call
	hasNewChanges bool   // there have been changes since memory was last released
}

// becameIdle must be called at regular intervals, with the total number of changes so far. It returns true once after each
// burst of changes: at the first call with an unchanged number.
func (d *idleDetector) becameIdle(changes uint64) bool {
	isIdle := changes == d.lastChanges && d.hasNewChanges
	d.hasNewChanges = changes != d.lastChanges || (d.hasNewChanges && !isIdle)
	d.lastChanges = changes
	return isIdle
}

// releaseMemory returns memory to the operating system after each burst of changes. Otherwise an idle server would keep the
// memory of its peak, because the garbage collector runs only when memory is allocated.
func releaseMemory(changes func() uint64, ticks <-chan time.Time, stop <-chan struct{}) {
	detector := idleDetector{lastChanges: changes()}
	for {
		select {
		case <-stop:
			return
		case <-ticks:
			if detector.becameIdle(changes()) {
				debug.FreeOSMemory()
			}
		}
	}
}

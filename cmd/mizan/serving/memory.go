package serving

import (
	"os"
	"runtime/debug"
	"time"
)

// memoryLimit is the size above which the garbage collector runs more often. When the store flushes a
// memtable, its buffers briefly take a few hundred MiB, and twice as much until the collector frees them.
const memoryLimit = 1 << 30

// LimitMemory sets the soft memory limit of Go's runtime to memoryLimit. If GOMEMLIMIT is set, that limit stays in force.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// idleCheckInterval is the interval at which the server checks whether the journal's writer is idle.
const idleCheckInterval = 10 * time.Second

// idleDetector detects that, after a burst of changes, a whole interval has passed without a change.
type idleDetector struct {
	lastChanges   uint64 // number of changes at the last call
	hasNewChanges bool   // there have been changes since memory was last released
}

// becameIdle must be called at regular intervals, with the total number of changes so far. It returns true once after each burst
// of changes: at the first call at which the number has not grown.
func (d *idleDetector) becameIdle(changes uint64) bool {
	isIdle := changes == d.lastChanges && d.hasNewChanges
	d.hasNewChanges = changes != d.lastChanges || (d.hasNewChanges && !isIdle)
	d.lastChanges = changes
	return isIdle
}

// releaseMemory returns memory to the operating system after each burst of changes. Without it an idle server would keep the
// memory of the peak, because the garbage collector runs only when memory is allocated.
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

package serving

import (
	"os"
	"runtime/debug"
	"time"
)

// memoryLimit is the size above which the garbage collector runs more often. When the store flushes a
// memtable, its buffers briefly take a few hundred MiB, and twice as much until the collector frees them.
const memoryLimit = 1 << 30

// LimitMemory makes memoryLimit the soft limit of Go's runtime, unless GOMEMLIMIT sets another.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// idleCheckInterval is the interval at which the server checks whether the journal's writer is idle.
const idleCheckInterval = 10 * time.Second

// idleDetector detects that the writer has been idle for a whole interval after a burst.
type idleDetector struct {
	lastChanges   uint64 // argument of the last call
	hasNewChanges bool   // changes were written since memory was last released
}

// becameIdle is called at intervals with the number of all changes so far. It returns true once after each
// burst: at the first call for which the number has not grown.
func (d *idleDetector) becameIdle(changes uint64) bool {
	isIdle := changes == d.lastChanges && d.hasNewChanges
	d.hasNewChanges = changes != d.lastChanges || (d.hasNewChanges && !isIdle)
	d.lastChanges = changes
	return isIdle
}

// releaseMemory returns memory to the operating system after each burst of requests. The garbage
// collector runs only when memory is allocated, so without releaseMemory an idle server would hold as
// much memory as at the peak.
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

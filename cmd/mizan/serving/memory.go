package serving

import (
	"os"
	"runtime/debug"
	"time"
)

// memoryLimit is the size above which the garbage collector runs more often. Flushing a
// memtable briefly needs a few hundred MiB of buffers, and twice as much until the collector
// frees them.
const memoryLimit = 1 << 30

// LimitMemory sets the soft limit, unless GOMEMLIMIT sets another.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// idleCheckInterval is the interval at which the server checks whether the writer is idle.
const idleCheckInterval = 10 * time.Second

// idleDetector detects that the writer has been idle for a whole interval after a burst.
type idleDetector struct {
	changes uint64
	busy    bool // changes were written since memory was last released
}

// becameIdle returns true once after each burst, when nothing was written since the last call.
func (d *idleDetector) becameIdle(changes uint64) bool {
	isIdle := changes == d.changes && d.busy
	d.busy = changes != d.changes || (d.busy && !isIdle)
	d.changes = changes
	return isIdle
}

// releaseMemory returns memory to the operating system after each burst of requests. The garbage
// collector runs only when memory is allocated, so without releaseMemory an idle server would hold as
// much memory as at the peak.
func releaseMemory(changes func() uint64, ticks <-chan time.Time, stop <-chan struct{}) {
	r := idleDetector{changes: changes()}
	for {
		select {
		case <-stop:
			return
		case <-ticks:
			if r.becameIdle(changes()) {
				debug.FreeOSMemory()
			}
		}
	}
}

package serving

import (
	"os"
	"runtime/debug"
	"time"
)

// memoryLimit is the size above which the garbage collector runs more often. Flushing a
// memtable takes a few hundred MiB of buffers for a moment, and twice that until the
// collector frees them.
const memoryLimit = 1 << 30

// LimitMemory sets the soft limit, unless GOMEMLIMIT says otherwise.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// idleLook is how often the server checks whether the writer is idle.
const idleLook = 10 * time.Second

// idleDetector notices that the writer has been idle for a whole interval after a burst.
type idleDetector struct {
	changes uint64
	busy    bool // since memory was last released
}

// becameIdle is true once after each burst: nothing was written since the last call.
func (r *idleDetector) becameIdle(changes uint64) bool {
	rested := changes == r.changes && r.busy
	r.busy = changes != r.changes || (r.busy && !rested)
	r.changes = changes
	return rested
}

// releaseMemory returns the memory of bursts to the operating system: the collector runs
// only when something is allocated, so an idle server would keep its peak.
func releaseMemory(changes func() uint64, looks <-chan time.Time, stop <-chan struct{}) {
	r := idleDetector{changes: changes()}
	for {
		select {
		case <-stop:
			return
		case <-looks:
			if r.becameIdle(changes()) {
				debug.FreeOSMemory()
			}
		}
	}
}

package serving

import (
	"os"
	"runtime/debug"
	"time"
)

// memoryLimit is where the runtime begins to collect earlier than it otherwise
// would. Flushing a memtable takes a few hundred MiB of buffers for a moment,
// and twice that while the collector has not noticed that they are garbage.
const memoryLimit = 1 << 30

// LimitMemory sets the soft limit, unless GOMEMLIMIT says otherwise.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// idleLook is how often the janitor looks whether the writer has rested.
const idleLook = 10 * time.Second

// rest notices that the writer has rested for a whole look after a burst.
type rest struct {
	changes uint64
	busy    bool // since memory was last given back
}

// over tells, once after each burst, that nothing was written since the look before.
func (r *rest) over(changes uint64) bool {
	rested := changes == r.changes && r.busy
	r.busy = changes != r.changes || (r.busy && !rested)
	r.changes = changes
	return rested
}

// giveBack returns the memory of bursts to the operating system: the collector
// itself only runs when something is allocated, so an idle server would keep
// its highest tide.
func giveBack(changes func() uint64, looks <-chan time.Time, stop <-chan struct{}) {
	r := rest{changes: changes()}
	for {
		select {
		case <-stop:
			return
		case <-looks:
			if r.over(changes()) {
				debug.FreeOSMemory()
			}
		}
	}
}

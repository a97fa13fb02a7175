package main

import (
	"os"
	"runtime/debug"
)

// memoryLimit is where the runtime begins to collect earlier than it otherwise
// would. Flushing a memtable takes a few hundred MiB of buffers for a moment,
// and twice that while the collector has not noticed that they are garbage.
const memoryLimit = 1 << 30

// limitMemory sets the soft limit, unless GOMEMLIMIT says otherwise.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

package simulator

import (
	"os"
	"sync"
	"syscall"
)

// logFile is the log's file. A sync by fdatasync is enough: the only metadata needed to read
// appended data is the file's size, which fdatasync syncs too.
type logFile struct{ *os.File }

// Sync implements file.
func (f logFile) Sync() error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err == nil {
			return nil
		}
		if err != syscall.EINTR {
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}

// flusher makes lines durable with one sync for all calls in flight. The first waiting caller syncs all
// lines that are written by then. Callers that arrive during the sync wait until it ends; then one of
// them makes the next sync.
type flusher struct {
	mu          sync.Mutex
	syncEnded   *sync.Cond
	isSyncing   bool  // a sync is in progress
	durableSize int64 // how many bytes from the log's beginning survive a power cut
	syncError   error // error of the first failed sync; there is no sync after it
}

func newFlusher() *flusher {
	f := new(flusher)
	f.syncEnded = sync.NewCond(&f.mu)
	return f
}

// wait returns when the log is durable up to the offset end. The function logAndSize returns the
// log's file and how many bytes were written to it. After an error it is unknown whether the bytes up to end
// survive a power cut.
func (f *flusher) wait(end int64, logAndSize func() (file, int64)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.durableSize < end {
		switch {
		case f.syncError != nil:
			return f.syncError
		case f.isSyncing:
			f.syncEnded.Wait()
			continue
		}
		f.isSyncing = true
		f.mu.Unlock()
		log, size := logAndSize()
		err := log.Sync()
		f.mu.Lock()
		f.isSyncing = false
		if f.syncError = err; err == nil {
			f.durableSize = size
		}
		f.syncEnded.Broadcast()
	}
	return nil
}

package simulator

import (
	"os"
	"sync"
	"syscall"
)

// logFile is the log's file. Appended data needs no metadata but the file's size to be found again,
// so fdatasync is enough.
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
// lines that are written by then. Callers that arrive during the sync wait for the next sync, which one
// of them makes.
type flusher struct {
	mu        sync.Mutex
	syncEnded *sync.Cond
	running   bool  // a sync is in progress
	durable   int64 // how many bytes from the log's beginning survive a power cut
	failed    error // error of the first failed sync; there is no sync after it
}

func newFlusher() *flusher {
	f := new(flusher)
	f.syncEnded = sync.NewCond(&f.mu)
	return f
}

// wait returns when the log is durable up to the offset end. It calls the function written to learn how many
// bytes are in the file. After an error it is unknown whether the bytes up to end survive a power cut.
func (f *flusher) wait(end int64, written func() (file, int64)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.durable < end {
		switch {
		case f.failed != nil:
			return f.failed
		case f.running:
			f.syncEnded.Wait()
			continue
		}
		f.running = true
		f.mu.Unlock()
		log, size := written()
		err := log.Sync()
		f.mu.Lock()
		f.running = false
		if f.failed = err; err == nil {
			f.durable = size
		}
		f.syncEnded.Broadcast()
	}
	return nil
}

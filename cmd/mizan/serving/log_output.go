package serving

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// stderrTimeout is how long a log line may wait for the reader of stderr after a stop has begun.
const stderrTimeout = time.Second

// logOutput lets several writers share stderr without mixing their lines. A Write waits for the reader of stderr. After a stop
// has begun, writes wait for the reader no longer than stderrTimeout; then the bytes of waiting and of later calls are dropped.
type logOutput struct {
	to        io.Writer
	turn      chan struct{} // contains an element while a Write is in progress
	stopping  chan struct{} // closed by stop
	abandoned chan struct{} // closed when the stop gives up waiting for the reader

	stopOnce, abandonOnce sync.Once
}

func newLogOutput(to io.Writer) *logOutput {
	return &logOutput{to: to, turn: make(chan struct{}, 1), stopping: make(chan struct{}), abandoned: make(chan struct{})}
}

// stop limits the time that writes may take from now on.
func (w *logOutput) stop() { w.stopOnce.Do(func() { close(w.stopping) }) }

// Write implements io.Writer. The system call runs in another goroutine, because a system call on a full pipe can't be
// interrupted.
func (w *logOutput) Write(p []byte) (int, error) {
	select {
	case w.turn <- struct{}{}:
	case <-w.abandoned:
		return len(p), nil
	}
	var n int
	var err error
	written := make(chan struct{})
	piece := bytes.Clone(p) // the caller may overwrite p while the goroutine still uses it
	go func() {
		n, err = w.to.Write(piece)
		close(written)
		<-w.turn
	}()
	if w.await(written) {
		return n, err
	}
	return len(p), nil
}

// await waits until the bytes are written. If the stop gives up waiting, await returns false.
func (w *logOutput) await(written <-chan struct{}) bool {
	select {
	case <-written:
		return true
	case <-w.stopping:
	}
	patience := time.NewTimer(stderrTimeout)
	defer patience.Stop()
	select {
	case <-written:
		return true
	case <-patience.C:
		w.abandonOnce.Do(func() { close(w.abandoned) })
		return false
	}
}

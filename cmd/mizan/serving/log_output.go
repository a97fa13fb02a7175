package serving

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// stopPatience is how long a line may wait for the reader of stderr after a stop has begun.
const stopPatience = time.Second

// logOutput lets several writers share stderr: each Write is whole. A Write waits for the reader of stderr, but it does not hold
// up a stop: if one still waits stopPatience after the stop has begun, its bytes and all later ones are dropped.
type logOutput struct {
	to        io.Writer
	turn      chan struct{} // has an element while a piece is being written
	stopping  chan struct{} // closed by stop
	abandoned chan struct{} // closed when nobody waits for the reader any more

	stopOnce, abandonOnce sync.Once
}

func newLogOutput(to io.Writer) *logOutput {
	return &logOutput{to: to, turn: make(chan struct{}, 1), stopping: make(chan struct{}), abandoned: make(chan struct{})}
}

// stop bounds how long writes wait from now on.
func (w *logOutput) stop() { w.stopOnce.Do(func() { close(w.stopping) }) }

// Write implements io.Writer. A system call on a full pipe can't be interrupted, so another goroutine makes it.
func (w *logOutput) Write(p []byte) (int, error) {
	select {
	case w.turn <- struct{}{}:
	case <-w.abandoned:
		return len(p), nil
	}
	var n int
	var err error
	written := make(chan struct{})
	piece := bytes.Clone(p) // the caller may use p again although the goroutine still has it
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

// await waits until a piece is written; false: it is abandoned.
func (w *logOutput) await(written <-chan struct{}) bool {
	select {
	case <-written:
		return true
	case <-w.stopping:
	}
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	select {
	case <-written:
		return true
	case <-patience.C:
		w.abandonOnce.Do(func() { close(w.abandoned) })
		return false
	}
}

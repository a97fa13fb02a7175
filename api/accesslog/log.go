package accesslog

import (
	"cmp"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Mode selects the requests that are logged.
type Mode int32

// The modes. Off is the zero value.
const (
	Off    Mode = iota // no requests
	Errors             // requests whose response has a status of at least 400
	All
)

// modeNames are the names of the modes in the configuration.
var modeNames = [...]string{Off: "off", Errors: "errors", All: "all"}

// String returns the mode's name in the configuration.
func (m Mode) String() string { return modeNames[m] }

// ParseMode is the inverse of String.
func ParseMode(text string) (Mode, error) {
	for m, name := range modeNames {
		if name == text {
			return Mode(m), nil
		}
	}
	return Off, fmt.Errorf("%q is no mode of the access log", text)
}

// firstError is the lowest HTTP status that counts as an error.
const firstError = 400

// Bounds of the buffer.
const (
	defaultBuffer = 1 << 20               // maximum number of bytes that wait to be written
	maxWrite      = 16 << 10              // maximum number of bytes in one call of Write
	writeInterval = 10 * time.Millisecond // how long the log collects lines before it writes them
	closePatience = time.Second           // how long Close waits for the output
)

// Options configure a Log.
type Options struct {
	Mode   Mode
	JSON   bool      // if true, each line is a JSON object; if false, key=value pairs
	Out    io.Writer // its Write is called by one goroutine at a time
	Buffer int       // maximum number of bytes that wait to be written; 0 means 1 MiB
}

// Log is an access log. A nil *Log writes nothing. The methods are safe for concurrent use.
type Log struct {
	mode     atomic.Int32
	json     bool
	out      io.Writer
	capacity int
	dropped  atomic.Uint64

	mu       sync.Mutex
	waiting  []byte // guarded by mu: lines that are not written yet
	isClosed bool   // guarded by mu

	wake  chan struct{} // receives a value when a line is added to an empty buffer; closed by Close
	ended chan struct{} // closed when all lines are written after Close
}

// New makes a log and starts the goroutine that writes the lines to the output.
func New(o Options) *Log {
	l := &Log{json: o.JSON, out: o.Out, capacity: cmp.Or(o.Buffer, defaultBuffer), wake: make(chan struct{}, 1), ended: make(chan struct{})}
	l.SetMode(o.Mode)
	go l.run()
	return l
}

// SetMode changes the mode, which then applies to all later requests.
func (l *Log) SetMode(m Mode) { l.mode.Store(int32(m)) }

// Wants tells whether a request whose response has this status is logged.
func (l *Log) Wants(status int) bool {
	if l == nil {
		return false
	}
	switch Mode(l.mode.Load()) {
	case All:
		return true
	case Errors:
		return status >= firstError
	}
	return false
}

// Dropped returns the number of lines that were dropped because the output was too slow.
func (l *Log) Dropped() uint64 {
	if l == nil {
		return 0
	}
	return l.dropped.Load()
}

// Add adds a line to the log. It never waits for the output. If the buffer has no room for the line, the line is dropped.
func (l *Log) Add(line Line) {
	var memory [maxLine]byte
	encoded := line.appendTo(memory[:0], l.json)
	l.mu.Lock()
	isFull := l.isClosed || len(l.waiting)+len(encoded) > l.capacity
	wasEmpty := len(l.waiting) == 0
	if !isFull {
		l.waiting = append(l.waiting, encoded...)
		if wasEmpty {
			l.wake <- struct{}{} // never blocks: run receives the previous value before it empties waiting
		}
	}
	l.mu.Unlock()
	if isFull {
		l.dropped.Add(1)
	}
}

// run writes the lines to the output until the log is closed.
func (l *Log) run() {
	defer close(l.ended)
	var lines []byte
	pause := time.NewTimer(writeInterval)
	defer pause.Stop()
	for range l.wake {
		// Under load more lines arrive within the interval, and all of them are written together.
		pause.Reset(writeInterval)
		<-pause.C
		lines = l.take(lines)
		l.write(lines)
	}
	l.write(l.take(lines))
}

// take returns the waiting lines. The memory of written, whose lines are written already, is reused for new lines.
func (l *Log) take(written []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.waiting
	l.waiting = written[:0]
	return lines
}

// write writes lines in pieces of at most maxWrite bytes, so that others who write to the same output need not wait long.
func (l *Log) write(lines []byte) {
	for len(lines) > 0 {
		n := len(lines)
		if n > maxWrite {
			n = lastLineEnd(lines[:maxWrite])
		}
		_, _ = l.out.Write(lines[:n]) // an error is ignored, because there is no place to report it
		lines = lines[n:]
	}
}

// lastLineEnd returns the total length of the whole lines at the beginning of a piece. Every piece contains at least
// one whole line, because a line is shorter than a piece.
func lastLineEnd(piece []byte) int {
	n := len(piece)
	for piece[n-1] != '\n' {
		n--
	}
	return n
}

// Close stops the log. It waits until the remaining lines are written, but not longer than a second. Lines that are
// added afterwards are dropped.
func (l *Log) Close() error {
	l.mu.Lock()
	if !l.isClosed {
		l.isClosed = true
		close(l.wake)
	}
	l.mu.Unlock()
	patience := time.NewTimer(closePatience)
	defer patience.Stop()
	select {
	case <-l.ended:
	case <-patience.C:
	}
	return nil
}

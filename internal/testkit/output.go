package testkit

import (
	"bytes"
	"strings"
	"sync"
)

// Output collects in memory what a process or a logger writes. It may be read while it is written.
type Output struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// String returns everything written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// Count returns how often the text was written so far.
func (o *Output) Count(text string) int { return strings.Count(o.String(), text) }

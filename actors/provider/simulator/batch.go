package simulator

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"mizan/internal/assert"
)

// maxBatch bounds the total length of a batch's lines, in bytes. Once a batch is full, further calls wait until it is durable.
const maxBatch = 256 << 10

// gatherYields is the number of times that a caller yields the processor before it writes a batch, if the previous
// batch had several lines. On a busy CPU, further calls join the batch meanwhile, and the same sync serves them too. On
// an idle CPU, yielding takes no time.
const gatherYields = 2

// batch is a sequence of lines that become durable together, with one write and one sync. At most two batches
// exist: one is being written, and the other collects the lines of the calls that arrive meanwhile. The first
// caller that waits for a batch also writes it, once the previous batch has been written.
type batch struct {
	begin     int64  // the log offset at which the first line begins
	text      []byte // the lines; guarded by Simulator.mu until the batch is being written
	lines     []pendingLine
	previous  *batch        // the batch that was being written when this batch began; nil if none
	hasWriter atomic.Bool   // a caller is writing the batch, or waits for the previous batch in order to write this one
	ended     chan struct{} // closed when the batch is durable or has failed; nil while only one caller uses the batch
	err       error         // why the lines are not in the log; valid after ended is closed
}

// pendingLine is a line that is not durable yet.
type pendingLine struct {
	hash   uint64 // hash of the charge's key
	offset int64
}

// errNotWritten says that lines are not in the log and never will be, so their calls never happened. After any
// other error of a batch, its lines may be in the log, and the next start may find them.
var errNotWritten = errors.New("the simulator's log cannot be written")

func (b *batch) end() int64 { return b.begin + int64(len(b.text)) }

// lineAt returns the i-th line of the batch.
func (b *batch) lineAt(i int) []byte {
	end := b.end()
	if i+1 < len(b.lines) {
		end = b.lines[i+1].offset
	}
	return b.text[b.lines[i].offset-b.begin : end-b.begin]
}

// makeShared lets several callers wait for the batch.
func (b *batch) makeShared() {
	if b.ended == nil {
		b.ended = make(chan struct{})
	}
}

// currentBatch returns the batch to which the next line is added.
func (l *callLog) currentBatch() *batch {
	if b := l.collecting; b != nil {
		b.makeShared() // from now on several callers use the batch
		return b
	}
	b := l.spare
	if l.spare = nil; b == nil {
		b = new(batch)
	}
	if b.begin = l.durable; l.writing != nil {
		b.begin, b.previous = l.writing.end(), l.writing
		l.writing.makeShared()
	}
	l.collecting = b
	return b
}

// lastPending returns the newest batch, or nil if all lines are durable.
func (l *callLog) lastPending() *batch {
	if l.collecting != nil {
		return l.collecting
	}
	return l.writing
}

// isPending tells whether a charge with this hash has a line that is not durable yet.
func (l *callLog) isPending(hash uint64) bool {
	for _, b := range [...]*batch{l.collecting, l.writing} {
		if b == nil {
			continue
		}
		for i := range b.lines {
			if b.lines[i].hash == hash {
				return true
			}
		}
	}
	return false
}

// newestPending returns a copy of the charge's newest line that is not durable yet, and the line's batch. It returns
// nil if all lines of the charge are durable.
func (l *callLog) newestPending(key []byte, hash uint64) (text []byte, offset int64, in *batch) {
	for _, b := range [...]*batch{l.collecting, l.writing} {
		if b == nil {
			continue
		}
		for i := len(b.lines) - 1; i >= 0; i-- {
			if b.lines[i].hash == hash && bytes.HasPrefix(b.lineAt(i), key) {
				b.makeShared()
				return bytes.Clone(b.lineAt(i)), b.lines[i].offset, b
			}
		}
	}
	return nil, 0, nil
}

// pendingAt returns a copy of the line that begins at offset, or nil if this line is already durable.
func (l *callLog) pendingAt(offset int64) []byte {
	for _, b := range [...]*batch{l.collecting, l.writing} {
		if b == nil {
			continue
		}
		for i := range b.lines {
			if b.lines[i].offset == offset {
				return bytes.Clone(b.lineAt(i))
			}
		}
	}
	return nil
}

// lockForLine waits until the batch that collects lines has room for one more line, and locks mu.
func (s *Simulator) lockForLine() {
	s.mu.Lock()
	for b := s.log.collecting; b != nil && len(b.text)+maxLine > maxBatch; b = s.log.collecting {
		b.makeShared()
		s.mu.Unlock()
		_ = s.wait(b) // if the batch failed, the callers that wait for it get the error
		s.mu.Lock()
	}
}

// write adds a line to the batch that collects lines. The line becomes its charge's newest line. The call may be
// answered once the returned batch is durable. The caller of write must hold the charge's lock and must have
// called lockForLine.
func (s *Simulator) write(key []byte, hash uint64, line *record) (*batch, error) {
	if s.log.failure != nil {
		return nil, s.log.failure
	}
	if line.batch != nil && line.batch.err != nil {
		return nil, line.batch.err // the new line continues a line of the charge that could not be written
	}
	b := s.log.currentBatch()
	begin := len(b.text)
	line.inBatch = uint64(begin)
	b.text = appendLine(append(b.text, key...), line)
	assert.That(len(b.text)-begin <= maxLine, "simulator: a line is too long to be read")
	b.lines = append(b.lines, pendingLine{hash, b.begin + int64(begin)})
	return b, nil
}

// wait returns when the batch is durable or has failed; the error says why it failed. A nil batch means that
// there is nothing to wait for. The caller must not hold mu, but may hold a charge's lock.
func (s *Simulator) wait(b *batch) error {
	switch {
	case b == nil:
		return nil
	case b.hasWriter.CompareAndSwap(false, true):
		return s.flush(b)
	}
	<-b.ended
	return b.err
}

// flush makes the batch durable, after the previous one.
func (s *Simulator) flush(b *batch) error {
	if b.previous != nil {
		<-b.previous.ended
		b.previous = nil
	}
	if s.log.wasShared {
		for range gatherYields {
			runtime.Gosched()
		}
	}
	s.mu.Lock()
	s.log.wasShared = len(b.lines) > 1
	err := b.err // if the previous batch failed, this batch failed with it
	if err == nil {
		s.log.collecting, s.log.writing = nil, b
	}
	s.mu.Unlock()
	if err == nil {
		err = s.log.makeDurable(b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log.writing == b {
		s.log.writing = nil
		if err == nil {
			s.addBatchToIndex(b)
			s.checkpointIfDue()
		} else {
			s.discard(b, err)
		}
	}
	s.log.end(b)
	return err
}

// addBatchToIndex adds the lines of a batch that has become durable to the index and the chargebacks.
func (s *Simulator) addBatchToIndex(b *batch) {
	for i := range b.lines {
		err := s.addToIndex(b.lineAt(i), b.lines[i].offset)
		assert.That(err == nil, "simulator: a line that was just written is damaged")
	}
	s.log.durable = b.end()
}

// discard drops all lines that are not durable, as if their calls had never been made. After a failed sync
// nothing is written any more, and the lines are cut off the file if possible.
func (s *Simulator) discard(b *batch, err error) {
	b.err = err
	if next := s.log.collecting; next != nil {
		next.err, s.log.collecting = err, nil // the lines of next follow the lines of b, so they cannot be written without them
	}
	if errors.Is(err, errNotWritten) {
		return
	}
	s.log.failure = err
	_ = s.log.file.Truncate(s.log.durable) // if that fails, the next start may find the lines
	if s.onSyncFailure != nil {
		s.onSyncFailure(err)
	}
}

// end wakes the callers that wait for the batch, and keeps the batch's buffers for a later batch.
func (l *callLog) end(b *batch) {
	if b.ended == nil { // no other caller uses the batch, so the batch itself can be reused
		b.err = nil
		b.hasWriter.Store(false)
		l.spare = b
	} else {
		l.spare = &batch{text: b.text, lines: b.lines}
		b.text, b.lines = nil, nil
		close(b.ended)
	}
	l.spare.text, l.spare.lines = l.spare.text[:0], l.spare.lines[:0]
}

// makeDurable writes and syncs a batch. Only one goroutine at a time may call it.
func (l *callLog) makeDurable(b *batch) error {
	if err := l.pad(b.end()); err != nil {
		return err
	}
	if _, err := l.file.WriteAt(b.text, b.begin); err != nil {
		return l.cutUnwritten(err)
	}
	return l.file.Sync()
}

// cutUnwritten cuts off the bytes that a failed write has left in the file. The error is errNotWritten only if
// the cut is durable, so that the bytes cannot reappear after a power failure.
func (l *callLog) cutUnwritten(writeError error) error {
	err := l.file.Truncate(l.durable)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return errors.Join(writeError, err)
	}
	l.paddedTo = l.durable
	return fmt.Errorf("%w: %w", errNotWritten, writeError)
}

package log

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"mizan/internal/disk"
	"mizan/posting/store/damage"
)

// confirmedName is the name of the file of confirmations. The file says which frame (the content of one group) was the last
// durable one when Confirm was last called. It is separate from the segments. So if the last segment was replaced by an older
// copy, Replay detects it. The file has two slots for marks, which are written alternately. If the file is lost, Open makes a
// new one.
const confirmedName = "confirmed"

// confirmedEpoch is the epoch of the marks in the file of confirmations. It need not be random, because the file of
// confirmations never contains anything but such marks.
var confirmedEpoch epoch

// confirmations is the open file of confirmations.
type confirmations struct {
	writing    sync.Mutex // held while a mark is written
	file       disk.File
	nextSlot   int64         // the slot into which the next mark is written; the other slot contains the last mark
	lastNumber atomic.Uint64 // number of the frame in the last mark
}

// openConfirmed opens the file of confirmations, and makes one if there is none.
func (l *Local) openConfirmed() (err error) {
	f, err := l.dir.Open(confirmedName)
	if errors.Is(err, os.ErrNotExist) {
		f, err = l.dir.Create(confirmedName, slots*blockSize)
	}
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	l.confirmations.file = f
	return nil
}

// checkConfirmed checks that the log still has the frames that were confirmed. last is the last frame that was found in the
// log.
func (l *Local) checkConfirmed(last Mark) error {
	c := &l.confirmations
	buf := make([]byte, slotSize)
	for i := range int64(slots) {
		clear(buf)
		if _, err := c.file.ReadAt(buf, i*blockSize); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("log: %s: %w", l.dir.Path(confirmedName), err)
		}
		m, ok := confirmedEpoch.parseSlot(buf)
		switch {
		case !ok:
			continue
		case m.N > last.N:
			return damage.New(l.dir.Path(""), "frame %d was acknowledged, but the last one found is %d", m.N, last.N)
		case m.N == last.N && m.Hash != last.Hash:
			return damage.New(l.dir.Path(""), "frame %d is not the one that was acknowledged", m.N)
		}
		if m.N > c.lastNumber.Load() {
			c.lastNumber.Store(m.N)
			c.nextSlot = (i + 1) % slots
		}
	}
	return nil
}

// Confirm records which frame is the last durable one, in a file that is separate from the segments. It should be called from
// time to time, and also when no other frame will follow soon. It is safe for concurrent use, also while a frame is appended. A
// frame whose Append has returned is durable before (see Options.SyncsLater).
func (l *Local) Confirm() error {
	c := &l.confirmations
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := l.Sync(); err != nil {
		return err
	}
	if l.failed.Load() {
		return ErrFailed
	}
	last := l.lastDurable()
	if last.N <= c.lastNumber.Load() {
		return nil
	}
	_, err := c.file.WriteAt(confirmedEpoch.fillSlot(markSlot{Mark: last}), c.nextSlot*blockSize)
	if err == nil {
		err = c.file.Datasync()
	}
	if err != nil {
		l.failed.Store(true)
		return fmt.Errorf("log: the confirmation of frame %d: %w", last.N, err)
	}
	c.lastNumber.Store(last.N)
	c.nextSlot = (c.nextSlot + 1) % slots
	return nil
}

// lastDurable returns the mark of the last durable frame. Before Replay it returns the zero value.
func (l *Local) lastDurable() Mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durable
}

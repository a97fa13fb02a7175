package log

import (
	"errors"
	"fmt"
	"io"
	"os"

	"mizan/posting/store/damage"
)

// confirmedName is the file that says which frame was acknowledged last, at least whenever no other followed for a while. It is
// apart from the segments, so that an older state of the last segment is noticed. It has two marks, which are written in turn.
// If it is lost it is made again.
const confirmedName = "confirmed"

// confirmedEpoch is for the marks in that file, which nobody else writes.
var confirmedEpoch epoch

// openConfirmed opens the file of confirmations, and makes one if there is none.
func (l *Local) openConfirmed() (err error) {
	l.confirmations, err = l.dir.Open(confirmedName)
	if errors.Is(err, os.ErrNotExist) {
		l.confirmations, err = l.dir.Create(confirmedName, slots*blockSize)
	}
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	return nil
}

// checkConfirmed compares the confirmations with the last frame of the log, and returns the number of the highest.
func (l *Local) checkConfirmed(last Mark) (confirmed uint64, err error) {
	buf := make([]byte, slotSize)
	for i := range int64(slots) {
		clear(buf)
		if _, err := l.confirmations.ReadAt(buf, i*blockSize); err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("log: %s: %w", l.dir.Path(confirmedName), err)
		}
		m, ok := confirmedEpoch.parseSlot(buf)
		switch {
		case !ok:
			continue
		case m.N > last.N:
			return 0, damage.New(l.dir.Path(""), "frame %d was acknowledged, but the last one found is %d", m.N, last.N)
		case m.N == last.N && m.Hash != last.Hash:
			return 0, damage.New(l.dir.Path(""), "frame %d is not the one that was acknowledged", m.N)
		}
		confirmed = max(confirmed, m.N)
	}
	return confirmed, nil
}

// Confirm makes it durable that the last frame was acknowledged. It is worthwhile when no other frame follows soon.
func (l *Local) Confirm() error {
	if l.failed {
		return ErrFailed
	}
	if l.tail == 0 || l.confirmed == l.last.N {
		return nil
	}
	_, err := l.confirmations.WriteAt(confirmedEpoch.fillSlot(markSlot{Mark: l.last}), int64(l.last.N%slots)*blockSize)
	if err == nil {
		err = l.confirmations.Datasync()
	}
	if err != nil {
		l.failed = true
		return fmt.Errorf("log: the confirmation of frame %d: %w", l.last.N, err)
	}
	l.confirmed = l.last.N
	return nil
}

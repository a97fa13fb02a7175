package simulator

import (
	"fmt"
	"os"

	"mizan/internal/durable"
)

// The log's file is longer than its lines: zero bytes (the padding) follow them. Most batches take the place of padding
// that is on the disk already, so they need no new space on the disk, and their sync changes no metadata, which makes
// the sync cheaper by a third or more.
const (
	paddingUnit = 4 << 10
	minGrowth   = 64 << 10 // the file grows by the length of its lines, but by no less than minGrowth and no more than maxGrowth
	maxGrowth   = 512 << 10
	maxPadding  = maxGrowth + paddingUnit // how many zero bytes may follow the last line
)

// diskBlock is what a disk writes as a whole or not at all, in bytes; larger blocks are multiples of it.
const diskBlock = 512

var zeros [64 << 10]byte

// pad makes the file longer, with zero bytes, if it ends before end. The batch that is then written in their place makes
// them durable too.
func (l *callLog) pad(end int64) error {
	if end <= l.paddedTo {
		return nil
	}
	newLength := end + min(max(end, minGrowth), maxGrowth)
	newLength += paddingUnit - 1
	newLength -= newLength % paddingUnit
	for at := l.paddedTo; at < newLength; {
		n, err := l.file.WriteAt(zeros[:min(int64(len(zeros)), newLength-at)], at)
		if err != nil {
			_ = l.file.Truncate(l.paddedTo) // gives space back to the disk; zero bytes that stay do no harm
			return fmt.Errorf("%w: %w", errNotWritten, err)
		}
		at += int64(n)
	}
	l.paddedTo = newLength
	return nil
}

// logFile is the log's file.
type logFile struct{ *os.File }

// Sync implements file.
func (f logFile) Sync() error { return durable.SyncData(f.File) }

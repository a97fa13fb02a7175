package simulator

import (
	"fmt"
	"os"

	"mizan/internal/durable"
)

// The log's file is longer than its lines: zero bytes (the padding) follow them. Most batches overwrite padding that is
// on the disk already. Therefore they need no new space, and their sync changes no metadata. This makes the sync
// cheaper by a third or more.
const (
	paddingUnit = 4 << 10
	minGrowth   = 64 << 10 // padding is as long as the lines before it, but at least minGrowth and at most maxGrowth
	maxGrowth   = 512 << 10
	maxPadding  = maxGrowth + paddingUnit // maximum number of zero bytes after the last line
)

// diskBlock is the number of bytes that a disk writes as a whole or not at all. Disks with larger blocks
// use a multiple of this number.
const diskBlock = 512

var zeros [64 << 10]byte

// pad appends zero bytes to the file if it ends before the offset end. The next batch overwrites some of these zero bytes,
// and its sync makes the rest of them durable too.
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
			_ = l.file.Truncate(l.paddedTo) // returns the space to the disk; if this fails, zero bytes stay and do no harm
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

package simulator

import (
	"fmt"
	"os"

	"mizan/internal/durable"
)

// The log's file is longer than its lines: zero bytes (the padding) follow them. Most batches overwrite padding that is
// on the disk already. So they need no new space, and their sync changes no metadata; this makes the sync cheaper by a
// third or more.
const (
	paddingUnit = 4 << 10
	minGrowth   = 64 << 10 // the file grows by the length of its lines, but by no less than minGrowth and no more than maxGrowth
	maxGrowth   = 512 << 10
	maxPadding  = maxGrowth + paddingUnit // how many zero bytes may follow the last line
)

// diskBlock is the number of bytes that a disk writes as a whole or not at all. Disks with larger blocks
// use multiples of it.
const diskBlock = 512

var zeros [64 << 10]byte

// If the file ends before the offset end, pad makes it longer, with zero bytes. The sync of the batch that is then written
// over them makes the other zero bytes durable too.
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

package calls

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json"

	"mizan/ledger"
	"mizan/snapshots/check/scan"
)

// WrittenLength returns the length of the written part of the simulator's log: the offset at which the last written line ends.
// size is the size of the file. While the simulator runs, zero bytes follow the last written line, and the simulator may write
// a new line over them at any moment. If a copy of the log included the zero bytes, zero bytes could precede a line that was
// written during the copy.
func WrittenLength(f io.ReaderAt, size int64) (int64, error) {
	piece := make([]byte, 64<<10)
	for size > 0 {
		n := min(size, int64(len(piece)))
		if _, err := f.ReadAt(piece[:n], size-n); err != nil && err != io.EOF {
			return 0, err
		}
		if written := len(bytes.TrimRight(piece[:n], "\x00")); written > 0 {
			return size - n + int64(written), nil
		}
		size -= n
	}
	return 0, nil
}

// LogFilter tells which calls in the simulator's log have an intent in the store. An intent is an event that is stored before a
// call. A restored log may be newer than the restored store, so a restore drops the calls without an intent: the restored
// simulator must not know them.
type LogFilter struct {
	scan      *scan.Scan
	keptLines map[callKind]uint8 // number of kept lines of each kind of call
	requests  map[ledger.ID]bool // request ids of the kept lines
}

// callKind identifies the calls of one transaction for one operation.
type callKind struct {
	of        *scan.History
	operation scan.Operation
}

// NewLogFilter returns a filter for one log. All lines of the log must be passed to Keeps, in the order of the log.
func NewLogFilter(s *scan.Scan) *LogFilter {
	return &LogFilter{scan: s, keptLines: make(map[callKind]uint8), requests: make(map[ledger.ID]bool)}
}

// Keeps tells whether to keep the next line of the log. For each operation of a transaction, the number of kept lines
// is at most the number of intents. The service may send a capture, void or refund again with the same request id. If
// the first line with a request id was kept, all later lines with the same request id are kept too. A line that can't
// be parsed is kept, so that the checker reports it.
func (f *LogFilter) Keeps(line []byte) bool {
	var entry call
	if json.Unmarshal(line, &entry) != nil {
		return true
	}
	o := f.scan.Organizations[entry.Org]
	if o == nil {
		return false
	}
	h := o.Histories.FindCharge(entry.Terminal, entry.Reference)
	if h == nil || h.Intents[scan.CallCharge] == 0 {
		return false
	}
	operation, known := operationsByLogName[entry.Operation]
	if !known || operation != scan.CallCharge && operation != scan.CallComplete && f.requests[entry.Request] {
		return true
	}
	kind := callKind{h, operation}
	if f.keptLines[kind] >= h.Intents[operation] {
		return false
	}
	f.keptLines[kind]++
	f.requests[entry.Request] = true
	return true
}

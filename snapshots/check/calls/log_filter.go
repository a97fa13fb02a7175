package calls

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json"

	"mizan/ledger"
	"mizan/snapshots/check/scan"
)

// WrittenLength returns the offset at which the last written line of the simulator's log ends. size is the size of the file.
// While the simulator runs, zero bytes follow this line, and the simulator may overwrite them at any moment. So a copy that
// included the zero bytes could have a gap before a later line.
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
// call. A restore uses the filter, because the restored log may be newer than the store and the restored simulator must not know
// calls without an intent.
type LogFilter struct {
	scan      *scan.Scan
	keptLines map[callKind]uint8 // number of kept lines of each kind of call
	requests  map[ledger.ID]bool // ids of the requests in the kept lines
}

// callKind is one kind of calls of one transaction.
type callKind struct {
	of        *scan.History
	operation scan.Operation
}

// NewLogFilter returns a filter. The lines of the log must be passed to Keeps from the first on.
func NewLogFilter(s *scan.Scan) *LogFilter {
	return &LogFilter{scan: s, keptLines: make(map[callKind]uint8), requests: make(map[ledger.ID]bool)}
}

// Keeps tells whether to keep the next line of the log. For each kind of call of a transaction, as many lines
// are kept as the transaction has intents. A capture, void or refund may have been sent again with the same
// request id: if a line with that id was kept, the further lines are kept too. A line that can't be read is
// kept, and the checker reports it.
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

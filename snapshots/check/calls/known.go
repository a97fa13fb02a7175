package calls

import (
	"github.com/go-json-experiment/json"

	"mizan/ledger"
	"mizan/snapshots/check/scan"
)

// LogFilter tells for which calls in the simulator's log the store has intents. A restore uses it
// because the restored log may be newer than the store. The restored simulator must not know calls
// for which the store has no intent.
type LogFilter struct {
	scan      *scan.Scan
	keptLines map[callKind]uint8
	requests  map[ledger.ID]bool
}

// callKind is one kind of calls of one transaction.
type callKind struct {
	org, transaction ledger.ID
	what             scan.Operation
}

// NewLogFilter returns a filter. The lines of the log must be passed to Keeps from the first on.
func NewLogFilter(s *scan.Scan) *LogFilter {
	return &LogFilter{scan: s, keptLines: make(map[callKind]uint8), requests: make(map[ledger.ID]bool)}
}

// Keeps tells whether the next line of the log is to be kept: whether the transaction has more intents
// for this kind of call than lines that were kept before. A repeated call with the same request is
// kept if the first one was. A line that can't be read is kept, and the checker reports it.
func (k *LogFilter) Keeps(line []byte) bool {
	var made call
	if json.Unmarshal(line, &made) != nil {
		return true
	}
	o := k.scan.Organizations[made.Org]
	if o == nil {
		return false
	}
	h := o.Histories.Find(ledger.Source{Kind: ledger.Transaction, ID: made.Reference})
	if h == nil || h.Intents[scan.CallCharge] == 0 {
		return false
	}
	what, known := callNamesInLog[made.Operation]
	if !known || what != scan.CallCharge && what != scan.CallComplete && k.requests[made.Request] {
		return true
	}
	of := callKind{made.Org, made.Reference, what}
	if k.keptLines[of] >= h.Intents[what] {
		return false
	}
	k.keptLines[of]++
	k.requests[made.Request] = true
	return true
}

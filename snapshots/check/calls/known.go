package calls

import (
	"github.com/go-json-experiment/json"

	"mizan/ledger"
	"mizan/snapshots/check/scan"
)

// Known tells for which calls in the simulator's log the store has intents. A restore uses it
// because the restored log may be newer than the store. The restored simulator must forget the
// calls that the store does not know.
type Known struct {
	scan     *scan.Scan
	kept     map[callKind]uint8
	requests map[ledger.ID]bool
}

// callKind is a kind of call that a transaction makes.
type callKind struct {
	org, transaction ledger.ID
	what             scan.Operation
}

// NewKnown returns a Known for the first line of a log.
func NewKnown(s *scan.Scan) *Known {
	return &Known{scan: s, kept: make(map[callKind]uint8), requests: make(map[ledger.ID]bool)}
}

// Take tells whether a line of the log is kept: the number of the store's intents for this kind
// of call exceeds the number of lines kept before. A repeated call with the same request is
// kept if the first one was. A line that can't be read is kept, and the checker reports it.
func (k *Known) Take(line []byte) bool {
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
	if k.kept[of] >= h.Intents[what] {
		return false
	}
	k.kept[of]++
	k.requests[made.Request] = true
	return true
}

package calls

import (
	"github.com/go-json-experiment/json"

	"mizan/ledger"
	"mizan/snapshots/check/scan"
)

// Known tells which calls in the simulator's log the store has intents for. A restore
// uses it: the log that it restores may be newer than the store, and calls that the store
// knows nothing about never happened for it.
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

func NewKnown(s *scan.Scan) *Known {
	return &Known{scan: s, kept: make(map[callKind]uint8), requests: make(map[ledger.ID]bool)}
}

// Take tells whether a line of the log stays: the store has as many intents for calls of
// this kind as lines were taken, and this one. A call that is repeated with the same
// request stays with the first. A line that can't be read stays too: the checker reports it.
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

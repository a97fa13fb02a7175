package contracts

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/snapshots/check/scan"
)

// PastEvent is an event of a contract. Moved is the fingerprint of all postings on shared accounts that the contract
// has made up to and including this event. Rule 1 of the checker compares past responses with these events.
type PastEvent struct {
	Name  contract.Action
	To    contract.Status
	At    ledger.Micros
	Moved scan.Fingerprint
}

// PastEvents returns a contract's events, oldest first.
func PastEvents(c *scan.Scan, r *scan.Record) (list []PastEvent, err error) {
	var events []ledger.Event
	err = c.View.SourceEvents(r.Organization.ID, r.Source, func(e ledger.Event) (bool, error) {
		events = append(events, e)
		return true, c.Interrupted()
	})
	l := new(Lifecycle)
	for _, e := range slices.Backward(events) {
		if e.Name != string(contract.Continue) && e.Name != string(contract.Batch) {
			l.LastAction = contract.Action(e.Name)
		}
		if e.Entry != nil {
			l.addControlTotals(r.Organization.Histories, e.Entry.Postings)
		}
		list = append(list, PastEvent{contract.Action(e.Name), contract.Status(e.To), e.Booked, l.SharedSum})
	}
	return list, err
}

// CausedBy tells whether the action may have caused the event.
func (e *PastEvent) CausedBy(p *contract.Product, action contract.Action) bool {
	handler := p.Handler(action)
	return e.Name == action || handler != nil && slices.Contains(handler.Transitions, e.Name)
}

// NotStored lists those members of a contract in a response that change from day to day without any event.
var NotStored = func() (names []string) {
	for _, p := range contract.Products {
		for _, c := range p.ShownByDay {
			names = append(names, c.Name)
		}
	}
	return names
}()

// NotStoredBefore returns the names of those members of a contract that can't be compared with an old response, because they
// may have changed since: the members in NotStored, the columns that the product may change after the creation
// (MutableColumns), the columns that a creation can't set, the reviews, and the metadata, to which the service adds keys.
func NotStoredBefore(p *contract.Product) []string {
	names := slices.Clone(NotStored)
	for _, c := range p.MutableColumns {
		names = append(names, c.Name)
	}
	for _, c := range p.Columns.Columns {
		if !c.Settable || c.Kind == contract.KindReview || c == contract.ClientMetadata.Column {
			names = append(names, c.Name)
		}
	}
	return names
}

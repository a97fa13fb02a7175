package transactions

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/subscription"
	"mizan/snapshots/check/scan"
)

// SubscriptionHistory returns the record of a subscription as it was after each event that changed the record, oldest
// first. The last element is the stored subscription. In all other elements, the fields for the last renewal's
// transaction and for the time of the next renewal are zero, because events do not contain these data.
func SubscriptionHistory(c *scan.Scan, o *scan.Organization, r *subscription.Record) (records []subscription.Record, err error) {
	var events []ledger.Event
	err = c.View.SourceEvents(o.ID, ledger.Source{Kind: ledger.Subscription, ID: r.ID}, func(e ledger.Event) (bool, error) {
		events = append(events, e)
		return true, c.Interrupted()
	})
	past := *r
	past.Progress = subscription.Progress{}
	for _, e := range slices.Backward(events) {
		switch subscription.Event(e.Name) {
		case subscription.Renew:
			past.RenewalsBegun++
		case subscription.Renewed:
			past.Renewals++
			past.Failures = 0
		case subscription.Unpaid:
			past.Failures++
		case subscription.WaitForOutcome, subscription.WaitForPartner:
			continue
		}
		past.State = subscription.State(e.To)
		records = append(records, past)
	}
	if n := len(records); n > 0 {
		records[n-1] = *r
	}
	return records, err
}

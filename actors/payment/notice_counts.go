package payment

import (
	"mizan/ledger/payment"
	"mizan/posting"
)

// updateNoticeCounts updates three counts of transitions in the decision's record. Notified counts the
// transitions for which the merchant gets a notice. Unwanted counts those whose status the merchant's settings
// do not select. Unnotified counts those whose status the settings select, but for which there is no notice.
// The merchant's settings at the time of a transition are not stored, so only these counts tell the checker
// how many notices must exist. before is the previous record, or nil for a new transaction. The new counts are
// computed from those in before, so a decision that is submitted twice is counted once.
func updateNoticeCounts(d *payment.Decision, before *payment.Record, merchant *recipient, notices []posting.Notice) {
	r := d.Record
	if before == nil {
		r.NotifiedChanges, r.UnnotifiedChanges, r.UnselectedChanges = 0, 0, 0
	} else {
		r.NotifiedChanges, r.UnnotifiedChanges, r.UnselectedChanges = before.NotifiedChanges, before.UnnotifiedChanges, before.UnselectedChanges
	}
	wanted, notified := uint32(0), uint32(0)
	for i := range d.Events {
		e := &d.Events[i]
		switch {
		case !payment.Notifiable(e):
		case !merchant.selects(e):
			r.UnselectedChanges++
		default:
			wanted++
		}
	}
	for i := range notices {
		if notices[i].Channel == posting.Webhook {
			notified++
		}
	}
	r.NotifiedChanges += notified
	r.UnnotifiedChanges += wanted - notified
}

// ReadNotice parses the body of a transaction's posting.Notice on channel posting.Webhook and returns
// the status in it. An error means that the body is malformed.
func ReadNotice(body []byte) (payment.Status, error) {
	f, err := readChangeable(body, &emptyRecord)
	return f.status, err
}

// emptyRecord is used instead of the transaction's record when only the form of a notice is checked.
var emptyRecord payment.Record

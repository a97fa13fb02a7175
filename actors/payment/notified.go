package payment

import (
	"mizan/ledger/payment"
	"mizan/posting"
)

// countNotified updates three counts of transitions in the decision's record. Notified: the merchant gets
// a notice. Unwanted: the merchant's settings do not select the status. Unnotified: the settings select
// the status, but there is no notice. The checker needs the counts to find a missing notice, because the
// settings at the time of the transition are not stored. The new counts are the counts in before (the
// previous record; nil: a new transaction) plus the transitions of the decision. So a decision that is
// submitted twice is counted once.
func countNotified(d *payment.Decision, before *payment.Record, merchant *recipient, notices []posting.Notice) {
	r := d.Record
	if before == nil {
		r.Notified, r.Unnotified, r.Unwanted = 0, 0, 0
	} else {
		r.Notified, r.Unnotified, r.Unwanted = before.Notified, before.Unnotified, before.Unwanted
	}
	wanted, notified := uint32(0), uint32(0)
	for i := range d.Events {
		e := &d.Events[i]
		switch {
		case !payment.Notifiable(e):
		case !merchant.selects(e):
			r.Unwanted++
		default:
			wanted++
		}
	}
	for i := range notices {
		if notices[i].Channel == posting.Webhook {
			notified++
		}
	}
	r.Notified += notified
	r.Unnotified += wanted - notified
}

// ReadNotice parses the body of a transaction's posting.Notice on channel posting.Webhook and returns
// the status in it. An error means that the body is malformed.
func ReadNotice(body []byte) (payment.Status, error) {
	f, err := readChangeable(body, &noRecord)
	return f.status, err
}

// noRecord is used instead of the transaction's record when only the form of a notice is checked.
var noRecord payment.Record

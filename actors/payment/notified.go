package payment

import (
	"mizan/ledger/payment"
	"mizan/posting"
)

// countNotified adds up in the next record for how many of its transitions the merchant was
// notified, did not want a notification, or could not be notified. The checker finds a missing
// notice by these counts, because the settings of that moment are not stored elsewhere. before is
// the record that was decided on (nil: none), so that a decision that is submitted twice is counted
// once.
func countNotified(d *payment.Decision, before *payment.Record, a *recipient, notices []posting.Notice) {
	r := d.Record
	if before == nil {
		r.Notified, r.Unnotified, r.Unwanted = 0, 0, 0
	} else {
		r.Notified, r.Unnotified, r.Unwanted = before.Notified, before.Unnotified, before.Unwanted
	}
	all, notified := uint32(0), uint32(0)
	for i := range d.Events {
		e := &d.Events[i]
		switch {
		case !payment.Notifiable(e):
		case !a.selects(e):
			r.Unwanted++
		default:
			all++
		}
	}
	for i := range notices {
		if notices[i].Channel == posting.Webhook {
			notified++
		}
	}
	r.Notified += notified
	r.Unnotified += all - notified
}

// ReadNotice returns the status in the body of a transaction's posting.Notice by posting.Webhook.
// The error says that the body has no known form.
func ReadNotice(body []byte) (payment.Status, error) {
	f, err := readChangeable(body, &noRecord)
	return f.status, err
}

// noRecord takes the record's place when only the form of a notice is checked.
var noRecord payment.Record

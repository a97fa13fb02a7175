package payment

import (
	"mizan/ledger/payment"
	"mizan/posting"
)

// countNotified adds to the next record how many of its transitions the merchant was notified of,
// how many it did not want to know, and at how many nobody could be notified. The checker finds a
// missing notice by these counts: the settings of that moment are stored nowhere else. before is the
// record that was decided on (nil: there was none), so that a decision that is handed to the writer
// a second time is not counted twice.
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
		case !a.wants(e):
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

// ReadNotice is the status in the body of a transaction's posting.Notice by posting.Webhook. The error
// says that the body has no known form.
func ReadNotice(body []byte) (payment.Status, error) {
	f, err := readChangeable(body, &noRecord)
	return f.status, err
}

// noRecord stands for the record when only the form of a notice is checked.
var noRecord payment.Record

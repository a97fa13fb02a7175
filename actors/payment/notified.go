package payment

import (
	"mizan/ledger/payment"
	"mizan/posting"
)

// countTold has the next record say of how many of its transitions the merchant was
// notified, of how many it did not want to be, and of how many there was nobody to
// notify: what a checker can miss a notice by, because nothing else remembers which
// settings there were at that moment. before is the record that was decided on (nil: there was none): a decision
// that is handed to the writer once more is not counted twice.
func countNotified(d *payment.Decision, before *payment.Record, a *recipient, notices []posting.Notice) {
	r := d.Record
	if before == nil {
		r.Notified, r.Unnotified, r.Unwanted = 0, 0, 0
	} else {
		r.Notified, r.Unnotified, r.Unwanted = before.Notified, before.Unnotified, before.Unwanted
	}
	all, told := uint32(0), uint32(0)
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
			told++
		}
	}
	r.Notified += told
	r.Unnotified += all - told
}

// ReadNotice reads the body of a posting.Notice by posting.Webhook of a transaction:
// the status that it tells of. An error says that it has no known form.
func ReadNotice(body []byte) (payment.Status, error) {
	f, err := readChangeable(body, &noRecord)
	return f.status, err
}

// noRecord stands for the record where only the form of a notice is looked at.
var noRecord payment.Record

package payment

import (
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/posting"
)

// CountTold is countTold for a merchant whose terminal wants to be notified of those
// statuses; nil: it makes no choice.
func CountTold(d *payment.Decision, before *payment.Record, statuses []string, notices []posting.Notice) {
	terminal := &directory.Terminal{Notification: directory.Notification{Statuses: statuses}}
	countNotified(d, before, &recipient{terminal: terminal}, notices)
}

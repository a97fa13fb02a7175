package payment

import (
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/posting"
)

// CountNotified calls updateNoticeCounts for a merchant whose terminal selects these statuses for
// notifications; nil: the default.
func CountNotified(d *payment.Decision, before *payment.Record, statuses []string, notices []posting.Notice) {
	terminal := &directory.Terminal{Notification: directory.Notification{Statuses: statuses}}
	updateNoticeCounts(d, before, &recipient{terminal: terminal}, notices)
}

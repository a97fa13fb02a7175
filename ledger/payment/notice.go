package payment

import (
	"slices"

	"mizan/ledger"
)

// notifiableStatuses lists the statuses of which a merchant can be notified. The index of a status is stored, so the
// order must never change. If a terminal selects no statuses (merchant_params.notify_statuses), its merchant is notified
// of the first numNotifiedByDefault of the list.
var notifiableStatuses = [...]Status{
	ActionRequired, PaymentHeld, PayoutHeld, Charged, Rejected, Failed, Reversed, Refunding, Refunded,
	Created, New, Authorizing, Charging, PreAuthorized3DS, AuthRequired, Unknown, Cancelled,
}

const numNotifiedByDefault = 9

// Notifiable tells whether a merchant can be notified of an event. The event must change the status, publish another
// action of the payer, or record a further refund. A merchant is never notified of three kinds of events: a refusal by
// one terminal if another terminal is tried (specification, "Events"), a refused attempt after which the payer may try
// again, and money that moves later for such an attempt and is returned.
func Notifiable(e *ledger.Event) bool {
	if name := Event(e.Name); name == EndAttempt || name == SettleAttempt {
		return false
	}
	if _, ok := NotifiedNumber(Status(e.To)); !ok {
		return false
	}
	return e.From != e.To || Event(e.Name) == RequireAction || Event(e.Name) == RefundDone
}

// NotifiedByDefault tells whether merchants are notified of the status if their terminal selects no statuses.
func NotifiedByDefault(s Status) bool {
	return slices.Contains(notifiableStatuses[:numNotifiedByDefault], s)
}

// NotifiedNumber returns the number that stands for the status in stored notices (notifications about an event). It
// returns false if merchants can't be notified of the status.
func NotifiedNumber(s Status) (byte, bool) {
	i := slices.Index(notifiableStatuses[:], s)
	return byte(max(i, 0)), i >= 0
}

// NotifiedStatus returns the status for a number in stored notices (notifications about an event). It returns false if no
// status has this number.
func NotifiedStatus(n byte) (Status, bool) {
	if int(n) >= len(notifiableStatuses) {
		return "", false
	}
	return notifiableStatuses[n], true
}

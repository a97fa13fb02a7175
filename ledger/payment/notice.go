package payment

import (
	"slices"

	"mizan/ledger"
)

// notifiableStatuses lists the statuses of which a merchant can be notified. The index of a status is stored, so no status
// may change its place. If a terminal selects no statuses (merchant_params.notify_statuses), its merchant is notified of the
// first numNotifiedByDefault.
var notifiableStatuses = [...]Status{
	ActionRequired, PaymentHeld, PayoutHeld, Charged, Rejected, Failed, Reversed, Refunding, Refunded,
	Created, New, Authorizing, Charging, PreAuthorized3DS, AuthRequired, Unknown, Cancelled,
}

const numNotifiedByDefault = 9

// Notifiable tells whether a merchant can be notified of an event. The event must change the status, publish another action
// of the payer, or record a further refund. Three kinds of events are excluded: a refusal by one terminal while another one
// is tried (specification, "Events"), a refused attempt while the payer may make another one, and money that moves for such
// an attempt and is returned.
func Notifiable(e *ledger.Event) bool {
	if name := Event(e.Name); name == EndAttempt || name == SettleAttempt {
		return false
	}
	if _, ok := NotifiedNumber(Status(e.To)); !ok {
		return false
	}
	return e.From != e.To || Event(e.Name) == Act || Event(e.Name) == RefundDone
}

// NotifiedByDefault tells whether a merchant is notified of the status if its terminal does not
// select statuses.
func NotifiedByDefault(s Status) bool {
	return slices.Contains(notifiableStatuses[:numNotifiedByDefault], s)
}

// NotifiedNumber returns the number of a status in stored notices (notifications about an event); false if merchants
// can't be notified of the status.
func NotifiedNumber(s Status) (byte, bool) {
	i := slices.Index(notifiableStatuses[:], s)
	return byte(max(i, 0)), i >= 0
}

// NotifiedStatus returns the status with that number in stored notices (notifications about an event); false if there is
// none.
func NotifiedStatus(n byte) (Status, bool) {
	if int(n) >= len(notifiableStatuses) {
		return "", false
	}
	return notifiableStatuses[n], true
}

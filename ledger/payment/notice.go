package payment

import (
	"slices"

	"mizan/ledger"
)

// notified are the statuses of which a merchant can be notified, in the order of their
// stored numbers: none ever changes its place. Of the first ones it is notified unless
// its terminal says otherwise (merchant_params.notify_statuses).
var notified = [...]Status{
	ActionRequired, PaymentHeld, PayoutHeld, Charged, Rejected, Failed, Reversed, Refunding, Refunded,
	Created, New, Authorizing, Charging, PreAuthorized3DS, AuthRequired, Unknown, Cancelled,
}

const notifiedByDefault = 9

// Notifiable tells whether a merchant can be notified of an event: of each that leads
// to another status, and of those that stay in one and bring news, another action of
// the payer's or a further refund. That one terminal refused leads to no status while
// another is tried (specification, "Events").
func Notifiable(e *ledger.Event) bool {
	if _, ok := NotifiedNumber(Status(e.To)); !ok {
		return false
	}
	return e.From != e.To || Event(e.Name) == Act || Event(e.Name) == RefundDone
}

// NotifiedByDefault tells whether a merchant whose terminal does not say which
// statuses it wants is notified of this one.
func NotifiedByDefault(s Status) bool { return slices.Contains(notified[:notifiedByDefault], s) }

// NotifiedNumber is a status's number in stored notices; false: there is no such
// status.
func NotifiedNumber(s Status) (byte, bool) {
	i := slices.Index(notified[:], s)
	return byte(max(i, 0)), i >= 0
}

// NotifiedStatus is the status with the number.
func NotifiedStatus(n byte) (Status, bool) {
	if int(n) >= len(notified) {
		return "", false
	}
	return notified[n], true
}

package payment

import "mizan/ledger"

// told are the statuses of which a merchant is notified, in the order of their
// stored numbers: none ever changes its place.
var told = [...]Status{
	ActionRequired, PaymentHeld, PayoutHeld, Charged, Rejected, Failed, Reversed, Refunding, Refunded,
}

// Tells tells whether a merchant is notified of an event: of each that leads to
// one of these statuses, and of those that stay in one and bring news, another
// action of the payer's or a further refund. That one terminal refused leads to
// no status while another is tried, so nobody is told of it (specification,
// "Events").
func Tells(e *ledger.Event) bool {
	if _, ok := ToldNumber(Status(e.To)); !ok {
		return false
	}
	return e.From != e.To || Event(e.Name) == Act || Event(e.Name) == RefundDone
}

// ToldNumber is a status's number in stored notices; false: nobody is notified of
// it.
func ToldNumber(s Status) (byte, bool) {
	for i := range told {
		if told[i] == s {
			return byte(i), true
		}
	}
	return 0, false
}

// ToldStatus is the status with the number.
func ToldStatus(n byte) (Status, bool) {
	if int(n) >= len(told) {
		return "", false
	}
	return told[n], true
}

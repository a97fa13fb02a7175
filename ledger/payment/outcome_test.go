package payment

import (
	"testing"

	"mizan/ledger"
)

// isFirstCharge lists every event that leads to Charged. For each event and each status before it, the value tells whether
// the transaction then becomes charged for the first time.
func TestWhatMakesATransactionCharged(t *testing.T) {
	isFirstCharge := map[Event]map[Status]bool{
		Settle:        {Charging: true, PreAuthorized3DS: true, AuthRequired: true, Unknown: true, Cancelled: true, PaymentHeld: true, PayoutHeld: true},
		Capture:       {PaymentHeld: true, PayoutHeld: true},
		Return:        {Absent: true},
		Refund:        {Charged: false},
		RefundRefused: {Charged: false, Refunding: false},
	}
	chargingSteps := 0
	for _, event := range events {
		for _, from := range []Status{
			Absent, Created, New, Authorizing, ActionRequired, Charging, PreAuthorized3DS, AuthRequired, Unknown, Cancelled,
			PaymentHeld, PayoutHeld, Charged, Refunding, Refunded, Rejected, Failed, Reversed,
		} {
			step, legal := Machine.Next(from, event)
			if !legal || step.To != Charged {
				continue
			}
			chargingSteps++
			want, known := isFirstCharge[event][from]
			if got := IsFirstCharge(&ledger.Event{Name: string(event), From: string(from), To: string(step.To)}); !known || got != want {
				t.Errorf("%s from %s: %v, want %v (known %v)", event, from, got, want, known)
			}
		}
	}
	if chargingSteps != 13 {
		t.Errorf("%d events lead to charged, want 13", chargingSteps)
	}
	if IsFirstCharge(&ledger.Event{Name: string(Decline), From: string(Charging), To: string(Rejected)}) {
		t.Error("a rejection counts as a first charge")
	}
}

func TestWhatCountsAsTheOutcomeOfATransaction(t *testing.T) {
	const none, success, failure = "none", "success", "failure"
	for _, c := range []struct {
		from, to Status
		want     string
	}{
		{Absent, Charged, success},
		{Absent, Rejected, failure},
		{Created, Rejected, failure},
		{Authorizing, Rejected, failure},
		{Authorizing, Failed, failure},
		{ActionRequired, Failed, failure},
		{Charging, Charged, success},
		{PaymentHeld, Charged, success},
		{PayoutHeld, Failed, failure},
		{Charging, PaymentHeld, none},
		{Charging, ActionRequired, none},
		{Rejected, Failed, none},
		{Charged, Refunding, none},
		{Charged, Reversed, none},
		{Refunding, Charged, none},
		{Refunding, Refunded, none},
		{Refunded, Reversed, none},
	} {
		got := none
		if failed, ok := (&Record{Status: c.to}).Outcome(c.from); ok && failed {
			got = failure
		} else if ok {
			got = success
		}
		if got != c.want {
			t.Errorf("from %s to %s: %s, want %s", c.from, c.to, got, c.want)
		}
	}
	if _, ok := (&Record{Status: Charged, ReversalOf: ledger.ID{1}}).Outcome(Absent); ok {
		t.Error("the return of another transaction counts as an outcome")
	}
}

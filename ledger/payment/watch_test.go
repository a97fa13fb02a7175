package payment

import (
	"testing"

	"mizan/ledger"
)

// The table has every event of the machine that leads to charged. It tells for each status before the event whether the
// transaction counts as charged for the first time.
func TestWhatMakesATransactionCharged(t *testing.T) {
	charges := map[Event]map[Status]bool{
		Settle:        {Charging: true, PreAuthorized3DS: true, AuthRequired: true, Unknown: true, Cancelled: true, PaymentHeld: true, PayoutHeld: true},
		Capture:       {PaymentHeld: true, PayoutHeld: true},
		Return:        {Absent: true},
		Refund:        {Charged: false},
		RefundRefused: {Charged: false, Refunding: false},
	}
	seen := 0
	for _, event := range events {
		for _, from := range []Status{
			Absent, Created, New, Authorizing, ActionRequired, Charging, PreAuthorized3DS, AuthRequired, Unknown, Cancelled,
			PaymentHeld, PayoutHeld, Charged, Refunding, Refunded, Rejected, Failed, Reversed,
		} {
			step, legal := Machine.Next(from, event)
			if !legal || step.To != Charged {
				continue
			}
			seen++
			want, known := charges[event][from]
			if got := IsFirstCharge(&ledger.Event{Name: string(event), From: string(from), To: string(step.To)}); !known || got != want {
				t.Errorf("%s from %s: %v, want %v (known %v)", event, from, got, want, known)
			}
		}
	}
	if seen != 13 {
		t.Errorf("%d events lead to charged, want 13", seen)
	}
	if IsFirstCharge(&ledger.Event{Name: string(Decline), From: string(Charging), To: string(Rejected)}) {
		t.Error("a rejection charges")
	}
}

func TestWhatCountsAsTheOutcomeOfATransaction(t *testing.T) {
	const none, good, bad = "none", "good", "bad"
	for _, c := range []struct {
		from, to Status
		want     string
	}{
		{Absent, Charged, good},
		{Absent, Rejected, bad},
		{Created, Rejected, bad},
		{Authorizing, Rejected, bad},
		{Authorizing, Failed, bad},
		{ActionRequired, Failed, bad},
		{Charging, Charged, good},
		{PaymentHeld, Charged, good},
		{PayoutHeld, Failed, bad},
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
			got = bad
		} else if ok {
			got = good
		}
		if got != c.want {
			t.Errorf("from %s to %s: %s, want %s", c.from, c.to, got, c.want)
		}
	}
	if _, ok := (&Record{Status: Charged, ReversalOf: ledger.ID{1}}).Outcome(Absent); ok {
		t.Error("the return of another transaction counts as an outcome")
	}
}

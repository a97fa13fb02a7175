package payment_test

import (
	"testing"

	"mizan/ledger/payment"
)

func TestTypesAreSpelledAsTheProtocolSpellsThem(t *testing.T) {
	for text, want := range map[string]payment.Type{"payment": payment.Payment, "payout": payment.Payout} {
		if got, ok := payment.ParseType(text); !ok || got != want || got.String() != text {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "Payment", "refund", "invalid"} {
		if got, ok := payment.ParseType(text); ok || got.String() != "invalid" {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

// A caller gets a response as soon as the provider has answered, even with an unknown reference.
func TestFirstProviderAnswerReleasesTheCaller(t *testing.T) {
	for status, want := range map[payment.Status]bool{
		payment.Authorizing: false, payment.Charging: true, payment.ActionRequired: true, payment.PaymentHeld: true, payment.Unknown: true,
	} {
		if l := inState(t, payment.Payment, status); l.r.Answered() != want {
			t.Errorf("%s: answered %v, want %v", status, l.r.Answered(), want)
		}
	}
	l := inState(t, payment.Payment, payment.Charging)
	l.cancels()
	if l.r.Answered() {
		t.Error("a cancel is answered before the provider has said anything")
	}
	if l.onOpAnswer(answers["nothing"]); !l.r.Answered() {
		t.Error("a time-out is no answer")
	}
}

// A submission that the provider does not know yet may still be on its way.
func TestUnknownReferenceIsRecordedForChargeAndOperation(t *testing.T) {
	l := inState(t, payment.Payment, payment.Authorizing)
	if l.r.NotKnown() {
		t.Error("not asked yet")
	}
	if l.onAnswer(answers["not known"]); !l.r.NotKnown() {
		t.Error("the charge")
	}
	l = inState(t, payment.Payment, payment.PaymentHeld)
	l.commits("")
	if l.onOpAnswer(answers["not known"]); !l.r.NotKnown() {
		t.Error("the operation")
	}
	if l.onOpAnswer(answers["pending"]); l.r.NotKnown() {
		t.Error("it has been heard of since")
	}
}

func TestPredicatesOfStatuses(t *testing.T) {
	for _, status := range payment.Machine.States() {
		held := status == "payment_suspended" || status == "payout_suspended"
		passing := status == "pre_authorized_3ds" || status == "auth_required" || status == "unknown" || status == "cancelled"
		moving := passing || status == "charging"
		if status.Held() != held || status.Passing() != passing || status.AtProvider() != moving {
			t.Errorf("%s: held %v, passing %v, moving %v", status, status.Held(), status.Passing(), status.AtProvider())
		}
	}
}

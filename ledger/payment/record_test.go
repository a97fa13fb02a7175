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

// A client gets a response as soon as the provider has answered, even if the answer is "unknown reference".
func TestFirstProviderAnswerReleasesTheCaller(t *testing.T) {
	for status, want := range map[payment.Status]bool{
		payment.Authorizing: false, payment.Charging: true, payment.ActionRequired: true, payment.PaymentHeld: true, payment.Unknown: true,
	} {
		if sc := inState(t, payment.Payment, status); sc.record.HasAnswer() != want {
			t.Errorf("%s: answered %v, want %v", status, sc.record.HasAnswer(), want)
		}
	}
	sc := inState(t, payment.Payment, payment.Charging)
	sc.cancel()
	if sc.record.HasAnswer() {
		t.Error("a cancel is answered before the provider's answer")
	}
	if sc.onOpAnswer(answers["nothing"]); !sc.record.HasAnswer() {
		t.Error("a time-out must count as an answer")
	}
}

// The answer "unknown reference" is recorded until the provider has confirmed the submission, which may still be on
// its way.
func TestUnknownReferenceIsRecordedForChargeAndOperation(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Authorizing)
	if sc.record.ReportedUnknown() {
		t.Error("ReportedUnknown before the provider was asked")
	}
	if sc.onAnswer(answers["not known"]); !sc.record.ReportedUnknown() {
		t.Error("ReportedUnknown is false for an unknown charge")
	}
	sc = inState(t, payment.Payment, payment.PaymentHeld)
	sc.commit("")
	if sc.onOpAnswer(answers["not known"]); !sc.record.ReportedUnknown() {
		t.Error("ReportedUnknown is false for an unknown operation")
	}
	if sc.onOpAnswer(answers["pending"]); sc.record.ReportedUnknown() {
		t.Error("ReportedUnknown after the provider has confirmed the operation")
	}
}

func TestPredicatesOfStatuses(t *testing.T) {
	for _, status := range payment.Machine.States() {
		held := status == "payment_suspended" || status == "payout_suspended"
		passing := status == "pre_authorized_3ds" || status == "auth_required" || status == "unknown" || status == "cancelled"
		atProvider := passing || status == "charging"
		if status.IsHeld() != held || status.IsIntermediate() != passing || status.AtProvider() != atProvider {
			t.Errorf("%s: held %v, intermediate %v, at the provider %v", status, status.IsHeld(), status.IsIntermediate(), status.AtProvider())
		}
	}
}

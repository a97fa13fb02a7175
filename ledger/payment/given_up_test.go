package payment_test

import (
	"testing"
	"time"

	"mizan/ledger/payment"
)

// The service gives up a charge whose payer does nothing. The rail did not refuse that charge, and a later "failed"
// from the rail only reports that the charge was voided, so it corrects nothing.
func TestExpiredPayerActionIsNotCorrected(t *testing.T) {
	sc := inState(t, payment.Payment, payment.ActionRequired)
	_, d, decided := sc.onDue(30 * time.Minute)
	if !decided || d.Record.Op == nil || d.Record.Op.Kind != payment.OpVoid {
		t.Fatal("it is not given up")
	}
	sc.onOpAnswer(answers["charged"])
	if sc.record.Status != payment.Rejected || sc.record.Failure.Code != payment.PayerActionExpired {
		t.Fatalf("%s %q", sc.record.Status, sc.record.Failure.Describe("en"))
	}
	if _, ok := sc.context.DecideCorrection(sc.record, payment.Failure{Code: payment.CancelledByCaller}); ok {
		t.Error("it was corrected")
	}
}

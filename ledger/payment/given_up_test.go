package payment_test

import (
	"testing"
	"time"

	"mizan/ledger/payment"
)

// The service gives up a charge whose payer does nothing. The rail did not refuse that charge, and a later "failed" from
// the rail only reports that the charge was voided, so it corrects nothing.
func TestExpiredPayerActionIsNotCorrected(t *testing.T) {
	l := inState(t, payment.Payment, payment.ActionRequired)
	_, d, decided := l.onDue(30 * time.Minute)
	if !decided || d.Record.Op == nil || d.Record.Op.Kind != payment.OpVoid {
		t.Fatal("it is not given up")
	}
	l.onOpAnswer(answers["charged"])
	if l.r.Status != payment.Rejected || l.r.Failure.Code != payment.PayerActionExpired {
		t.Fatalf("%s %q", l.r.Status, l.r.Failure.Describe("en"))
	}
	if _, ok := l.c.DecideCorrection(l.r, payment.Failure{Code: payment.CancelledByCaller}); ok {
		t.Error("it was corrected")
	}
}

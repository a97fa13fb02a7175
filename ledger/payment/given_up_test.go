package payment_test

import (
	"testing"
	"time"

	"mizan/ledger/payment"
)

// The service gives up a charge whose payer does nothing. The rail did not refuse that charge. If the rail later reports
// "failed", it only means that the charge was voided, so nothing is corrected.
func TestExpiredPayerActionIsNotCorrected(t *testing.T) {
	sc := inState(t, payment.Payment, payment.ActionRequired)
	_, d, decided := sc.onDue(30 * time.Minute)
	if !decided || d.Record.Op == nil || d.Record.Op.Kind != payment.OpVoid {
		t.Fatal("the charge is not voided")
	}
	sc.onOpAnswer(answers["charged"])
	if sc.record.Status != payment.Rejected || sc.record.Failure.Code != payment.PayerActionExpired {
		t.Fatalf("%s %q", sc.record.Status, sc.record.Failure.Describe("en"))
	}
	if _, ok := sc.context.DecideCorrection(sc.record, payment.Failure{Code: payment.CancelledByCaller}); ok {
		t.Error("the rejection was corrected")
	}
}

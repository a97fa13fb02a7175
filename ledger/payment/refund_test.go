package payment_test

import (
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/payment"
)

// The partner's posting of a charge may be split between the partner's balance and debt; "*" marks such a posting. If the
// fee exceeds the amount, the posting is a debit.
func TestAChargeSplitsBetweenThePartnerAndTheFees(t *testing.T) {
	for want, c := range map[string]struct {
		amount string
		fees   payment.Fees
	}{
		"Dr A:provider 10000, Cr L:partner:1:available 10000*":                 {"10000", feeDeducted(0, "0")},
		"Dr A:provider 9999, Cr L:partner:1:available 9747*, Cr I:fees 252":    {"9999", feeDeducted(250, "3")},
		"Dr A:provider 10251, Cr L:partner:1:available 9999*, Cr I:fees 252":   {"9999", feeOnTop(250, "3")},
		"Dr A:provider 50, Cr I:fees 50":                                       {"50", feeDeducted(0, "50")},
		"Dr A:provider 50, Dr L:partner:1:available 20*, Cr I:fees 70":         {"50", feeDeducted(0, "70")},
		"Dr A:provider 120, Cr L:partner:1:available 50*, Cr I:fees 70":        {"50", feeOnTop(0, "70")},
		"Dr A:provider 9999, Dr L:partner:1:available 14999*, Cr I:fees 24998": {"9999", feeDeducted(25000, "1")},
	} {
		sc := newScenario(t, payment.Payment, c.amount, terms(c.fees))
		sc.want(sc.onAnswer(answers["charged"]), "process charging", "settle charged: posted "+want, "final")
	}
}

// When a payout is charged, its hold is captured.
func TestPayoutHoldIsCapturedWhenCharged(t *testing.T) {
	for want, fees := range map[string]payment.Fees{
		"Dr L:partner:1:available 1000, Cr A:provider 1000":                 feeDeducted(0, "0"),
		"Dr L:partner:1:available 1000, Cr A:provider 990, Cr I:fees 10":    feeDeducted(100, "0"),
		"Dr L:partner:1:available 1010, Cr A:provider 1000, Cr I:fees 10":   feeOnTop(100, "0"),
		"Dr L:partner:1:available 2000, Cr A:provider 1000, Cr I:fees 1000": feeOnTop(10000, "0"),
	} {
		sc := newScenario(t, payment.Payout, "1000", terms(fees))
		sc.want(sc.onAnswer(answers["charged"]), "process charging", "settle charged: capture "+want+" for "+want, "final")
	}
}

// refundCase is a payment and the refunds of its parts, in order.
type refundCase struct {
	name   string
	amount string
	fees   payment.Fees
	parts  []refundPart
}

type refundPart struct {
	amount          string // requested amount; empty: all that is left is requested
	operationAmount string // the amount that the provider is to return
	heldPostings    string // postings of the refund's pending entry
	capturePostings string // postings of the entry that captures the pending entry
	headroom        string // the headroom that the refund reserves
}

// The fee returned so far is floor(fee × refunded so far ÷ amount). So the returned parts of the fee sum to the whole fee.
func TestRefundsInParts(t *testing.T) {
	for _, c := range []refundCase{
		{"no fee, all", "1000", feeDeducted(0, "0"), []refundPart{
			{"", "1000", "Cr A:provider 1000, Dr L:partner:1:available 1000", "Cr A:provider 1000, Dr L:partner:1:available 1000*", "1000"}}},
		{"deducted, the fee stays", "9999", feeDeducted(250, "3"), []refundPart{
			{"1000", "1000", "Cr A:provider 1000, Dr L:partner:1:available 1000", "Cr A:provider 1000, Dr L:partner:1:available 1000*", "1000"},
			{"", "8999", "Cr A:provider 8999, Dr L:partner:1:available 8999", "Cr A:provider 8999, Dr L:partner:1:available 8999*", "8999"}}},
		{"on top, the fee stays", "9999", feeOnTop(250, "3"), []refundPart{
			{"", "9999", "Cr A:provider 9999, Dr L:partner:1:available 9999", "Cr A:provider 9999, Dr L:partner:1:available 9999*", "9999"}}},
		// The fee returned so far is floor(25.2), then floor(50.4), then 252. The parts are 25, 25 and 202.
		{"deducted, the fee goes back", "9999", refundable(feeDeducted(250, "3")), []refundPart{
			{"1000", "1000", "Cr A:provider 1000, Dr L:partner:1:available 975, Dr I:fees 25", "Cr A:provider 1000, Dr L:partner:1:available 975*, Dr I:fees 25", "1025"},
			{"1000", "1000", "Cr A:provider 1000, Dr L:partner:1:available 975, Dr I:fees 25", "Cr A:provider 1000, Dr L:partner:1:available 975*, Dr I:fees 25", "1025"},
			{"", "7999", "Cr A:provider 7999, Dr L:partner:1:available 7797, Dr I:fees 202", "Cr A:provider 7999, Dr L:partner:1:available 7797*, Dr I:fees 202", "8201"}}},
		{"on top, the fee goes back", "9999", refundable(feeOnTop(250, "3")), []refundPart{
			{"1000", "1025", "Cr A:provider 1025, Dr L:partner:1:available 1000, Dr I:fees 25", "Cr A:provider 1025, Dr L:partner:1:available 1000*, Dr I:fees 25", "1050"},
			{"8999", "9226", "Cr A:provider 9226, Dr L:partner:1:available 8999, Dr I:fees 227", "Cr A:provider 9226, Dr L:partner:1:available 8999*, Dr I:fees 227", "9453"}}},
		// The charge debited the partner, because the fee exceeded the amount. So a refund credits the partner.
		{"a fee above the amount", "50", refundable(feeDeducted(0, "70")), []refundPart{
			{"20", "20", "Cr A:provider 20, Cr L:partner:1:available 8, Dr I:fees 28", "Cr A:provider 20, Cr L:partner:1:available 8*, Dr I:fees 28", "48"},
			{"30", "30", "Cr A:provider 30, Cr L:partner:1:available 12, Dr I:fees 42", "Cr A:provider 30, Cr L:partner:1:available 12*, Dr I:fees 42", "72"}}},
		{"a fee that is the amount", "50", refundable(feeDeducted(0, "50")), []refundPart{
			{"", "50", "Cr A:provider 50, Dr I:fees 50", "Cr A:provider 50, Dr I:fees 50", "100"}}},
		{"a fee above the amount that stays", "50", feeDeducted(0, "70"), []refundPart{
			{"", "50", "Cr A:provider 50, Dr L:partner:1:available 50", "Cr A:provider 50, Dr L:partner:1:available 50*", "50"}}},
		// With the smallest parts, a unit of the fee is returned as soon as a whole unit is due.
		{"unit by unit", "3", refundable(feeDeducted(0, "2")), []refundPart{
			{"1", "1", "Cr A:provider 1, Dr L:partner:1:available 1", "Cr A:provider 1, Dr L:partner:1:available 1*", "1"},
			{"1", "1", "Cr A:provider 1, Dr I:fees 1", "Cr A:provider 1, Dr I:fees 1", "2"},
			{"1", "1", "Cr A:provider 1, Dr I:fees 1", "Cr A:provider 1, Dr I:fees 1", "2"}}},
	} {
		sc := newCharged(t, payment.Payment, c.amount, terms(c.fees))
		sc.checkRefunds(c.name, "charged", c.parts)
		if sc.record.RefundedAmount != sc.record.Amount {
			continue
		}
		_, err := sc.context.Refund(sc.record, nil, sc.newRequestID())
		wantRefused(t, err, ledger.InvalidRefundAmount) // nothing is left
	}
}

// checkRefunds runs refunds that the provider carries out at once, and checks their entries. status is the transaction's
// status before the first refund.
func (sc *scenario) checkRefunds(name, status string, parts []refundPart) {
	sc.t.Helper()
	for _, p := range parts {
		d := sc.refund(p.amount)
		sc.want(d, "refund "+status+": pending "+p.heldPostings, "due 10s, ask op, reserve "+p.headroom)
		if amount, asset := sc.record.OperationAmount(); amount.String() != p.operationAmount || asset != sc.record.Asset {
			sc.t.Errorf("%s: the provider is asked to return %v %v, want %s", name, amount, asset, p.operationAmount)
		}
		if sc.record.HasAnswer() || refundID(sc.record) != sc.record.Op.ID || refundMessage(sc.record) != "" {
			sc.t.Errorf("%s: %+v", name, sc.record)
		}
		before, oldRecord := *sc.record, sc.record
		sc.want(sc.onOpAnswer(answers["charged"]), "refund_done refunded: capture "+p.capturePostings+" for "+p.heldPostings)
		if refundMessage(sc.record) != "The money was returned." || sc.record.Op != nil || refundID(sc.record) != refundID(&before) || !sc.record.HasAnswer() {
			sc.t.Errorf("%s: %+v", name, sc.record)
		}
		wantUnchanged(sc.t, before, oldRecord)
		status = "refunded"
	}
}

// If only a part was captured, that part and its fee can be refunded, but no more.
func TestRefundsAreBoundedByTheCapturedPart(t *testing.T) {
	sc := newHeld(t, payment.Payment, "1000", terms(refundable(feeDeducted(250, "3"))))
	sc.commit("400")
	sc.onOpAnswer(answers["charged"])
	_, err := sc.context.Refund(sc.record, amountPointer("401"), sc.newRequestID())
	wantRefused(t, err, ledger.InvalidRefundAmount)
	sc.checkRefunds("captured", "charged", []refundPart{ // 13 × 100 ÷ 400 = 3.25
		{"100", "100", "Cr A:provider 100, Dr L:partner:1:available 97, Dr I:fees 3", "Cr A:provider 100, Dr L:partner:1:available 97*, Dr I:fees 3", "103"},
		{"", "300", "Cr A:provider 300, Dr L:partner:1:available 290, Dr I:fees 10", "Cr A:provider 300, Dr L:partner:1:available 290*, Dr I:fees 10", "310"}})
}

func TestRefundAboveTheRestIsRefused(t *testing.T) {
	sc := newCharged(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	for _, amount := range []string{"0", "1001", "1" + zeros(72)} {
		_, err := sc.context.Refund(sc.record, amountPointer(amount), sc.newRequestID())
		wantRefused(t, err, ledger.InvalidRefundAmount)
	}
	sc.refund("600")
	sc.onOpAnswer(answers["charged"])
	_, err := sc.context.Refund(sc.record, amountPointer("401"), sc.newRequestID())
	wantRefused(t, err, ledger.InvalidRefundAmount)
	sc.refund("400")
}

// The specification says: "A payout, a declined, failed or held transaction: not_reversible". The same applies to a
// transaction that never reached a provider.
func TestWhatCanNotBeRefunded(t *testing.T) {
	declined := inState(t, payment.Payment, payment.Charging)
	declined.onAnswer(answers["refused"])
	failed := inState(t, payment.Payment, payment.Charging)
	failed.onAnswer(answers["failed"])
	original := newCharged(t, payment.Payment, "100", terms(feeDeducted(0, "0")))
	decision, _ := original.context.DecideReversal(original.record, 7, otherID, payment.Failure{})
	for name, r := range map[string]*payment.Record{
		"a payout":     newCharged(t, payment.Payout, "100", terms(feeDeducted(0, "0"))).record,
		"a held one":   inState(t, payment.Payment, payment.PaymentHeld).record,
		"charging":     inState(t, payment.Payment, payment.Charging).record,
		"a hosted one": newHosted(t).record,
		"unrouted":     testContext.Reject(transactionID, 1, request(payment.Payment, "100"), payment.Failure{Code: payment.NoTerminal}).Record,
		"declined":     declined.record,
		"failed":       failed.record,
		"reversed":     decision.Record,
		"a return":     decision.Return.Record,
	} {
		_, err := testContext.Refund(r, amountPointer("0"), otherID) // refused for its status, not for the amount
		if err == nil {
			t.Errorf("%s was refunded", name)
			continue
		}
		wantRefused(t, err, ledger.NotReversible)
	}
}

// While a refund is under way, any other one is refused.
func TestOneRefundAtATime(t *testing.T) {
	sc := newCharged(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	sc.refund("1")
	for _, answer := range []string{"nothing", "pending", "pending"} {
		_, err := sc.context.Refund(sc.record, amountPointer("1"), sc.newRequestID())
		wantRefused(t, err, ledger.Conflict)
		_, err = sc.context.Cancel(sc.record, sc.newRequestID())
		wantRefused(t, err, ledger.NotReversible)
		sc.onOpAnswer(answers[answer])
	}
}

// The specification says: "A refund is refused by the rail: refund_msg says why, status stays charged."
func TestARefusedRefundReleasesWhatItHeld(t *testing.T) {
	for _, answer := range []string{"refused", "failed", "not sent"} {
		sc := newCharged(t, payment.Payment, "9999", terms(refundable(feeDeducted(250, "3"))))
		sc.refund("1000")
		sc.want(sc.onOpAnswer(answers[answer]),
			"refund_refused charged: void Cr A:provider 1000, Dr L:partner:1:available 975, Dr I:fees 25", "release 1025")
		if r := sc.record; refundMessage(r) != "why" || refundID(r) != (ledger.ID{9, 1}) || r.Op != nil || !r.RefundedAmount.IsZero() || !r.RefundedFee.IsZero() || r.Failure.Describe("en") != "" {
			t.Errorf("%s: %+v", answer, r)
		}
		sc.refund("") // the refund may be requested again
	}
}

func TestAFurtherRefundThatIsRefusedStaysRefunded(t *testing.T) {
	sc := newCharged(t, payment.Payment, "1000", terms(refundable(feeDeducted(1000, "0"))))
	sc.refund("500")
	sc.onOpAnswer(answers["charged"])
	sc.refund("")
	sc.want(sc.onOpAnswer(answers["refused"]), "further_refund_refused refunded: void Cr A:provider 500, Dr L:partner:1:available 450, Dr I:fees 50", "release 550")
	if r := sc.record; r.RefundedAmount.String() != "500" || r.RefundedFee.String() != "50" || refundMessage(r) != "why" {
		t.Errorf("%+v", r)
	}
	// A refused refund in status refunding has the same effect.
	sc.refund("100")
	sc.onOpAnswer(answers["pending"])
	sc.want(sc.onOpAnswer(answers["refused"]), "further_refund_refused refunded: void Cr A:provider 100, Dr L:partner:1:available 90, Dr I:fees 10", "release 110")
}

// A slow refund goes from charged to refunding to refunded. Its money is held from the intent on.
func TestSlowRefundIsRefunding(t *testing.T) {
	sc := newCharged(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	sc.refund("")
	sc.want(sc.onOpAnswer(answers["pending"]), "refund_pending refunding", "due 10s")
	if refundMessage(sc.record) != "The refund is under way." || !sc.record.HasAnswer() {
		t.Errorf("%q, answered %v", refundMessage(sc.record), sc.record.HasAnswer())
	}
	if ask, _, _ := sc.context.OnDue(sc.record, true, uuid.UUID{7}); ask != payment.InquireOperation {
		t.Errorf("after a restart OnDue asks %v", ask)
	}
	sc.want(sc.onOpAnswer(answers["pending"]), "await refunding", "due 20s")
	sc.want(sc.onOpAnswer(answers["nothing"]), "await refunding", "due 40s")
	sc.want(sc.onOpAnswer(answers["charged"]),
		"refund_done refunded: capture Cr A:provider 1000, Dr L:partner:1:available 1000* for Cr A:provider 1000, Dr L:partner:1:available 1000")
	if refundMessage(sc.record) != "The money was returned." {
		t.Errorf("%q", refundMessage(sc.record))
	}
}

// While it is unknown whether the money was returned, the status is refunding, because charged is final and would mean
// that no refund is under way.
func TestARefundWithoutAnOutcomeIsRefunding(t *testing.T) {
	for _, answer := range []string{"nothing", "not known"} {
		for _, before := range []string{"charged", "refunded"} {
			sc := newCharged(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
			if before == "refunded" {
				sc.refund("400")
				sc.onOpAnswer(answers["charged"])
			}
			sc.refund("500")
			if sc.record.HasAnswer() {
				t.Errorf("%s: answered before the provider has answered", before)
			}
			sc.want(sc.onOpAnswer(answers[answer]), "refund_pending refunding", "due 10s")
			if refundMessage(sc.record) != "The refund is under way." || !sc.record.HasAnswer() {
				t.Errorf("%s, %s: %q, answered %v", before, answer, refundMessage(sc.record), sc.record.HasAnswer())
			}
			sc.onOpAnswer(answers["refused"])
			if string(sc.record.Status) != before || refundMessage(sc.record) != "why" {
				t.Errorf("%s, %s, then refused: %s %q", before, answer, sc.record.Status, refundMessage(sc.record))
			}
		}
	}
}

func TestAPendingRefundThatIsRefusedIsChargedAgain(t *testing.T) {
	sc := newCharged(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	sc.refund("")
	sc.onOpAnswer(answers["pending"])
	sc.want(sc.onOpAnswer(answers["refused"]), "refund_refused charged: void Cr A:provider 1000, Dr L:partner:1:available 1000", "release 1000")
	if refundMessage(sc.record) != "why" || sc.record.Status != payment.Charged {
		t.Errorf("%s %q", sc.record.Status, refundMessage(sc.record))
	}
}

// Two answers "unknown reference" in a row mean that the refund never arrived. It is then submitted once more with the same
// reference. If the second submission does not arrive either, the refund is refused.
func TestARefundThatNeverArrivedIsSentOnceMore(t *testing.T) {
	sc := newCharged(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	sc.refund("")
	sc.want(sc.onOpAnswer(answers["not known"]), "refund_pending refunding", "due 10s")
	if !sc.record.HasAnswer() {
		t.Error("the client gets no response")
	}
	sc.want(sc.onOpAnswer(answers["nothing"]), "await refunding", "due 10s") // a missing answer reveals nothing
	name := sc.record.Op.ID
	sc.want(sc.onOpAnswer(answers["not known"]), "await refunding", "due 10s, ask op")
	if sc.record.Op.ID != name {
		t.Error("the refund is sent again with another id")
	}
	sc.want(sc.onOpAnswer(answers["not known"]), "await refunding", "due 10s")
	sc.want(sc.onOpAnswer(answers["not known"]), "refund_refused charged: void Cr A:provider 1000, Dr L:partner:1:available 1000", "release 1000")
	if refundMessage(sc.record) != "The transaction was interrupted before it reached the provider." {
		t.Errorf("%q", refundMessage(sc.record))
	}
}

func TestTheRailsKeysOfAnOperationAreKept(t *testing.T) {
	sc := newCharged(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	sc.refund("")
	if sc.onOpAnswer(payment.ProviderAnswer{Verdict: payment.VerdictCharged, Meta: []byte(`{"a":1}`)}); string(sc.record.RailMeta) != `{"a":1}` {
		t.Errorf("%s", sc.record.RailMeta)
	}
}

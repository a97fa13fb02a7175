package payment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/payment"
)

var otpAction = &payment.Action{Type: "none", Material: []byte(`{"otp":""}`)}

// answers maps the names that the tests use to a provider's answers.
var answers = map[string]payment.ProviderAnswer{
	"charged":      {Verdict: payment.VerdictCharged, RRN: "123456789012"},
	"pending":      {Verdict: payment.VerdictPending},
	"refused":      {Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "why"}},
	"failed":       {Verdict: payment.VerdictFailed, Failure: payment.Failure{Detail: "why"}},
	"nothing":      {Verdict: payment.VerdictUnknown},
	"not known":    {Verdict: payment.VerdictNotFound},
	"held":         {Verdict: payment.VerdictHeld, RRN: "123456789012"},
	"act":          {Verdict: payment.VerdictAction, Action: otpAction},
	"still to act": {Verdict: payment.VerdictAction},
	"ready":        {Verdict: payment.VerdictReady},
	"not sent":     {Verdict: payment.VerdictNotSent, Failure: payment.Failure{Detail: "why"}},
	"prepared":     {Verdict: payment.VerdictPrepared, Meta: []byte(`{"id":"1"}`)},
}

// inState returns a transaction of 100 without a fee. Answers of the provider have brought it to the status.
func inState(t testing.TB, kind payment.Type, status payment.Status) *scenario {
	t.Helper()
	sc := newScenario(t, kind, "100", twoPhase(terms(feeDeducted(0, "0"))))
	switch status {
	case payment.Authorizing:
	case payment.ActionRequired:
		sc.onAnswer(answers["act"])
	case payment.PaymentHeld, payment.PayoutHeld:
		sc.onAnswer(answers["held"])
	case payment.Charging:
		sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictUnknown, NextInquiryIn: time.Second})
	default:
		sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictPending, NextInquiryIn: time.Second, Status: status})
	}
	if sc.record.Status != status {
		t.Fatalf("%s is not %s", sc.record.Status, status)
	}
	return sc
}

// The table has the effect of each answer in each status in which the provider may have the charge: the events, the next
// status, the phases of the entries and the next inquiry. Each answer arrives at the due instant. A time-out never fails a
// charge. It never ends a hold or the payer's time early.
func TestEffectOfEveryAnswerInEveryState(t *testing.T) {
	atRailRow := func(status, holdEffect, settlePhase, voidPhase string) map[string]string {
		wait := "await: " + status + ", due 10s"
		return map[string]string{
			"charged": "settle: charged, " + settlePhase + ", final", "refused": "decline: rejected" + voidPhase + ", release 100, final",
			"failed": "fail: failed" + voidPhase + ", release 100, final", "held": holdEffect + ", due 168h0m0s",
			"act": "act: action_required, due 30m0s", "still to act": "act: action_required, due 30m0s",
			"pending": wait, "nothing": wait, "not known": wait, "ready": wait, "not sent": wait, "prepared": wait,
		}
	}
	heldRow := func(status, voidPhase string) map[string]string {
		wait, inquireSoon := "await: "+status+", due 168h0m0s", "await: "+status+", due 10s"
		return map[string]string{
			"charged": "settle: charged, capture, final", "refused": "fail: failed" + voidPhase + ", release 100, final", "failed": "fail: failed" + voidPhase + ", release 100, final",
			"pending": wait, "held": wait, "act": wait, "still to act": wait, "ready": wait,
			"nothing": inquireSoon, "not known": inquireSoon, "not sent": inquireSoon, "prepared": inquireSoon,
		}
	}
	authorizingRow := func(holdEffect, settlePhase, voidPhase string) map[string]string {
		return map[string]string{
			"charged": "process settle: charged, " + settlePhase + ", final", "refused": "decline: rejected" + voidPhase + ", release 100, final",
			"failed": "process fail: failed" + voidPhase + ", release 100, final", "held": "process " + holdEffect + ", due 168h0m0s",
			"act": "process act: action_required, due 30m0s", "still to act": "process act: action_required, due 30m0s",
			"pending": "process: charging, due 10s", "nothing": "process: charging, due 10s", "ready": "process: charging, due 10s",
			"not known": "await: authorizing, due 10s", "not sent": "fail: failed" + voidPhase + ", release 100, final",
			"prepared": "prepare: authorizing, due 10s",
		}
	}
	actionRequiredRow := func(holdEffect, settlePhase, voidPhase string) map[string]string {
		wait, inquireSoon := "await: action_required, due 30m0s", "await: action_required, due 10s"
		return map[string]string{
			"charged": "submit settle: charged, " + settlePhase + ", final", "refused": "decline: rejected" + voidPhase + ", release 100, final",
			"failed": "submit fail: failed" + voidPhase + ", release 100, final", "held": "submit " + holdEffect + ", due 168h0m0s",
			"pending": "submit: charging, due 10s", "act": "act: action_required, due 30m0s",
			"still to act": wait, "ready": wait, "nothing": inquireSoon, "not known": inquireSoon, "not sent": inquireSoon, "prepared": inquireSoon,
		}
	}
	paymentHeld, payoutHeld := "hold_payment: payment_suspended, pending", "hold_payout: payout_suspended"
	for _, c := range []struct {
		kind   payment.Type
		status payment.Status
		want   map[string]string // effect of each answer, by the answer's name
	}{
		{payment.Payment, payment.Authorizing, authorizingRow(paymentHeld, "posted", "")},
		{payment.Payment, payment.ActionRequired, actionRequiredRow(paymentHeld, "posted", "")},
		{payment.Payment, payment.Charging, atRailRow("charging", paymentHeld, "posted", "")},
		{payment.Payment, payment.PreAuthorized3DS, atRailRow("pre_authorized_3ds", paymentHeld, "posted", "")},
		{payment.Payment, payment.AuthRequired, atRailRow("auth_required", paymentHeld, "posted", "")},
		{payment.Payment, payment.Unknown, atRailRow("unknown", paymentHeld, "posted", "")},
		{payment.Payment, payment.Cancelled, atRailRow("cancelled", paymentHeld, "posted", "")},
		{payment.Payment, payment.PaymentHeld, heldRow("payment_suspended", ", void")},
		{payment.Payout, payment.Authorizing, authorizingRow(payoutHeld, "capture", ", void")},
		{payment.Payout, payment.ActionRequired, actionRequiredRow(payoutHeld, "capture", ", void")},
		{payment.Payout, payment.Charging, atRailRow("charging", payoutHeld, "capture", ", void")},
		{payment.Payout, payment.PreAuthorized3DS, atRailRow("pre_authorized_3ds", payoutHeld, "capture", ", void")},
		{payment.Payout, payment.Cancelled, atRailRow("cancelled", payoutHeld, "capture", ", void")},
		{payment.Payout, payment.PayoutHeld, heldRow("payout_suspended", ", void")},
	} {
		if len(c.want) != len(answers) {
			t.Fatalf("%s: %d answers, want %d", c.status, len(c.want), len(answers))
		}
		for name, want := range c.want {
			sc := inState(t, c.kind, c.status)
			sc.context.Due = ledger.MicrosOf(now) // the answer arrives at the due instant
			before, oldRecord := *sc.record, sc.record
			if got := summaryOf(sc.onAnswer(answers[name])); got != want {
				t.Errorf("%v in %s, %s: %s, want %s", c.kind, c.status, name, got, want)
			}
			wantUnchanged(t, before, oldRecord)
		}
	}
}

// summaryOf formats a decision as one line: the events, the status, the phases of the entries and the other effects.
func summaryOf(d payment.Decision) string {
	var names []string
	phases := ""
	for _, e := range d.Events {
		names = append(names, e.Name)
		if e.Entry != nil {
			phases += ", " + e.Entry.Phase.String()
		}
	}
	text := strings.Join(names, " ") + ": " + string(d.Record.Status) + phases
	if d.Due != 0 {
		text += ", due " + d.Due.Time().Sub(now).String()
	}
	for _, g := range d.Counters {
		text += ", " + counterText(d.Record.Asset, g)
	}
	if d.IsFinal {
		text += ", final"
	}
	return text
}

// The field error_description has the rail's reason, and is empty on success.
func TestFailureReasonIsRecordedIfNothingSettled(t *testing.T) {
	for name, want := range map[string]string{"refused": "why", "failed": "why", "not sent": "why", "charged": ""} {
		sc := inState(t, payment.Payment, payment.Authorizing)
		if sc.onAnswer(answers[name]); sc.record.Failure.Describe("en") != want {
			t.Errorf("%s: %q, want %q", name, sc.record.Failure.Describe("en"), want)
		}
	}
	sc := inState(t, payment.Payment, payment.PaymentHeld)
	if sc.onAnswer(answers["refused"]); sc.record.Failure.Describe("en") != "why" || sc.record.HoldUntil != 0 {
		t.Errorf("after a refusal of a hold: %q, held until %v", sc.record.Failure.Describe("en"), sc.record.HoldUntil)
	}
}

func TestTheRetrievalReferenceIsKept(t *testing.T) {
	for _, name := range []string{"charged", "held"} {
		sc := inState(t, payment.Payment, payment.Authorizing)
		if sc.onAnswer(answers[name]); sc.record.RRN != "123456789012" {
			t.Errorf("%s: %q", name, sc.record.RRN)
		}
	}
	sc := inState(t, payment.Payment, payment.PaymentHeld)
	if sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictCharged}); sc.record.RRN != "123456789012" {
		t.Errorf("after a capture without an RRN, the RRN is %q", sc.record.RRN)
	}
}

func TestTheRailsOwnKeysAreKeptUntilItSendsOthers(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Authorizing)
	for _, c := range []struct{ sent, want string }{{`{"a":1}`, `{"a":1}`}, {"", `{"a":1}`}, {`{"b":2}`, `{"b":2}`}} {
		a := payment.ProviderAnswer{Verdict: payment.VerdictPending}
		if c.sent != "" {
			a.Meta = []byte(c.sent)
		}
		if sc.onAnswer(a); string(sc.record.RailMeta) != c.want {
			t.Errorf("%s, want %s", sc.record.RailMeta, c.want)
		}
	}
}

// An answer that reports nothing new causes no event before the record's due instant.
func TestAnswerWithoutNewsChangesNothing(t *testing.T) {
	for _, c := range []struct {
		kind   payment.Type
		status payment.Status
		news   string // names of the answers that change the record
	}{
		{payment.Payment, payment.ActionRequired, "charged pending refused failed held act"},
		{payment.Payment, payment.PaymentHeld, "charged refused failed"},
		{payment.Payout, payment.PayoutHeld, "charged refused failed"},
	} {
		for name, a := range answers {
			sc := inState(t, c.kind, c.status)
			if _, ok := sc.context.DecideProviderAnswer(sc.record, a); ok != strings.Contains(c.news, name) {
				t.Errorf("%s in %s: decided %v", name, c.status, ok)
			}
		}
	}
}

func TestClosedTransactionIgnoresAnswers(t *testing.T) {
	for name, sc := range map[string]*scenario{
		"charged":                 newCharged(t, payment.Payment, "100", terms(feeDeducted(0, "0"))),
		"rejected by no terminal": {t: t, context: testContext, record: testContext.Reject(transactionID, 1, request(payment.Payment, "100"), payment.Failure{Code: payment.NoTerminal}).Record},
	} {
		for answer, a := range answers {
			if _, ok := sc.context.DecideProviderAnswer(sc.record, a); ok {
				t.Errorf("%s: decided on %s", name, answer)
			}
		}
	}
	for answer, a := range answers { // after a refusal, an answer matters only if money has moved after all
		sc := inState(t, payment.Payment, payment.Charging)
		sc.onAnswer(answers["refused"])
		if _, ok := sc.context.DecideProviderAnswer(sc.record, a); ok != (answer == "charged") {
			t.Errorf("refused: decided on %s: %v", answer, ok)
		}
	}
}

// While a charge is being voided, captured or refunded, an answer about the charge has no effect. Only an answer about
// that operation decides.
func TestWhileAnOperationIsUnderWayItsOwnAnswerDecides(t *testing.T) {
	for name, sc := range map[string]*scenario{
		"void":    inState(t, payment.Payment, payment.Charging),
		"capture": inState(t, payment.Payment, payment.PaymentHeld),
		"refund":  newCharged(t, payment.Payment, "100", terms(feeDeducted(0, "0"))),
	} {
		switch name {
		case "void":
			sc.cancel()
		case "capture":
			sc.commit("")
		case "refund":
			sc.refund("")
		}
		for answer, a := range answers {
			if _, ok := sc.context.DecideProviderAnswer(sc.record, a); ok {
				t.Errorf("%s: decided on %s about the charge", name, answer)
			}
		}
		if _, ok := sc.context.DecideOpAnswer(sc.record, uuid.UUID{7}, answers["charged"]); ok {
			t.Errorf("%s: decided on an operation that is not under way", name)
		}
		if ask, _, decided := sc.context.OnDue(sc.record, true, uuid.UUID{7}); ask != payment.InquireOperation || decided {
			t.Errorf("%s: after a restart OnDue asks %v", name, ask)
		}
	}
	sc := inState(t, payment.Payment, payment.Charging)
	if _, ok := sc.context.DecideOpAnswer(sc.record, ledger.ID{}, answers["charged"]); ok {
		t.Error("decided on an operation where none is under way")
	}
}

// If the provider answers "unknown reference" twice, with one provider time-out in between, the call never arrived. The
// charge then fails with the code interrupted.
func TestUnknownReferenceTwiceInARowIsInterrupted(t *testing.T) {
	for _, status := range []payment.Status{payment.Authorizing, payment.Charging} {
		sc := inState(t, payment.Payout, status)
		sc.onAnswer(answers["not known"])
		if ask, _, _ := sc.onDue(10 * time.Second); ask != payment.InquireCharge {
			t.Errorf("%s: %v is asked", status, ask)
		}
		d := sc.onAnswer(answers["not known"])
		if sc.record.Status != payment.Failed || sc.record.Failure.Describe("en") != "The transaction was interrupted before it reached the provider." {
			t.Errorf("%s: %s %q", status, sc.record.Status, sc.record.Failure.Describe("en"))
		}
		want := []string{
			"process charging",
			"fail failed: void Dr L:partner:1:available 100, Cr A:provider 100",
			"release 100, final",
		}
		if status == payment.Charging {
			want = want[1:]
		}
		sc.want(d, want...)
	}
}

// An inquiry that could not be sent reveals nothing about the charge.
func TestUnsentInquiryFailsNothing(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Authorizing)
	sc.onAnswer(answers["not known"])
	sc.want(sc.onAnswer(answers["not sent"]), "process charging", "due 10s")
}

// A time-out between two answers "unknown reference" changes nothing: the charge still counts as lost. If the rail has ever
// confirmed a charge, it never counts as lost.
func TestChargeConfirmedByTheRailNeverCountsAsLost(t *testing.T) {
	for between, lost := range map[string]bool{"nothing": true, "pending": false, "act": false} {
		sc := inState(t, payment.Payment, payment.Charging)
		sc.onAnswer(answers["not known"])
		sc.onAnswer(answers[between])
		for range 3 {
			sc.onDue(24 * time.Hour)
			if sc.record.Status == payment.Failed {
				break
			}
			sc.context.Due = ledger.MicrosOf(sc.context.Now)
			if d, ok := sc.context.DecideProviderAnswer(sc.record, answers["not known"]); ok {
				sc.apply(d)
			}
		}
		if (sc.record.Status == payment.Failed) != lost {
			t.Errorf("after %s: %s", between, sc.record.Status)
		}
	}
}

func TestInquiriesWithoutAnAnswerBackOffToABound(t *testing.T) {
	sc := newScenario(t, payment.Payment, "100", terms(feeDeducted(0, "0")))
	var gaps []string
	for range 11 {
		d := sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictUnknown})
		gaps = append(gaps, d.Due.Time().Sub(now).String())
	}
	if got, want := strings.Join(gaps, " "), "10s 20s 40s 1m20s 2m40s 5m20s 10m40s 21m20s 42m40s 42m40s 42m40s"; got != want {
		t.Errorf("gaps %s, want %s", got, want)
	}
}

// A rail may choose the time of the next inquiry, but the next due instant is always later than the present one. Otherwise a
// manual clock, which stops at every due instant, would never get past this instant.
func TestRailChoosesTheNextInquiry(t *testing.T) {
	for delay, want := range map[time.Duration]string{5 * time.Second: "5s", time.Nanosecond: "1ms", time.Millisecond: "1ms", -time.Second: "10s", 0: "10s"} {
		sc := inState(t, payment.Payment, payment.Charging)
		d := sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictPending, NextInquiryIn: delay})
		if got := d.Due.Time().Sub(now).String(); got != want {
			t.Errorf("again in %v: due %s, want %s", delay, got, want)
		}
	}
}

// The specification says: "rails pass through further non-final states".
func TestARailPassesThroughStatesOfItsOwn(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Authorizing)
	for _, c := range []struct {
		status payment.Status
		want   string
	}{
		{"pre_authorized_3ds", "process pass_pre_authorized_3ds: pre_authorized_3ds, due 10s"},
		{"pre_authorized_3ds", "await: pre_authorized_3ds, due 20s"},
		{"auth_required", "pass_auth_required: auth_required, due 40s"},
		{"", "await: auth_required, due 1m20s"},
		{"unknown", "pass_unknown: unknown, due 2m40s"},
		{"charging", "process: charging, due 5m20s"},
		{"charged", "await: charging, due 10m40s"}, // the status "charged" in an answer settles nothing; only a verdict does
		{"cancelled", "pass_cancelled: cancelled, due 21m20s"},
	} {
		if got := summaryOf(sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictPending, Status: c.status})); got != c.want {
			t.Errorf("%q: %s, want %s", c.status, got, c.want)
		}
	}
	sc = inState(t, payment.Payment, payment.ActionRequired)
	if got, want := summaryOf(sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictPending, Status: "unknown"})), "submit pass_unknown: unknown, due 10s"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// If the rail has the charge, the provider is asked about the charge when the transaction is due. It is also asked earlier,
// after a restart.
func TestDueTransactionAtTheRailIsInquired(t *testing.T) {
	for status, want := range map[payment.Status]payment.ProviderRequest{
		payment.Authorizing: payment.InquireCharge, payment.Charging: payment.InquireCharge, payment.Unknown: payment.InquireCharge,
		payment.ActionRequired: payment.InquireCharge, payment.PaymentHeld: payment.NoRequest,
	} {
		for _, early := range []bool{true, false} {
			sc := inState(t, payment.Payment, status)
			if ask, _, decided := sc.context.OnDue(sc.record, early, uuid.UUID{9}); ask != want || decided {
				t.Errorf("%s, early %v: %v (decided %v), want %v", status, early, ask, decided, want)
			}
		}
	}
	sc := newCharged(t, payment.Payment, "100", terms(feeDeducted(0, "0")))
	if ask, _, decided := sc.context.OnDue(sc.record, false, uuid.UUID{9}); ask != payment.NoRequest || decided {
		t.Error("a settled transaction has a question for the provider")
	}
}

// While a submission may still be on its way, the provider may say any number of times that it does not know it. Then two answers end
// a charge, and a capture is submitted once more and then given up.
func TestSubmissionThatMayArriveIsNeverGivenUp(t *testing.T) {
	lost := payment.ProviderAnswer{Verdict: payment.VerdictNotFound, Inquired: true}
	underWay := lost
	underWay.MayArrive = true
	charge := newScenario(t, payment.Payment, "100", terms(feeDeducted(0, "0")))
	for range 5 {
		if d := charge.onAnswer(underWay); d.Record.Status.IsFinal() || d.ProviderRequest != payment.NoRequest || d.Due != ledger.MicrosOf(now.Add(10*time.Second)) {
			t.Fatalf("the charge is %s, asks %d, due %v", d.Record.Status, d.ProviderRequest, d.Due.Time())
		}
	}
	if d := charge.onAnswer(lost); d.Record.Status != payment.Failed {
		t.Errorf("the charge is %s", d.Record.Status)
	}
	capture := newScenario(t, payment.Payment, "1000", twoPhase(terms(feeDeducted(250, "3"))))
	capture.onAnswer(answers["held"])
	capture.commit("")
	for n, a := range []payment.ProviderAnswer{underWay, underWay, underWay, lost, underWay, underWay, lost, underWay, lost} {
		want := payment.NoRequest
		if n == 3 {
			want = payment.SubmitOperation
		}
		d := capture.onOpAnswer(a)
		if isGivenUp := d.Record.Op == nil; isGivenUp != (n == 8) || !isGivenUp && d.ProviderRequest != want {
			t.Fatalf("answer %d: given up %v, asks %d, want %d", n, isGivenUp, d.ProviderRequest, want)
		}
	}
}

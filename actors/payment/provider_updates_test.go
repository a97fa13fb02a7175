package payment_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// InquireReport calls the wrapped provider's InquireReport, if the provider has this method.
func (w *witness) InquireReport(ctx context.Context, q *actors.Inquiry) (actors.Report, bool) {
	if examiner, isExaminer := w.Provider.(paymentactor.ReportInquirer); isExaminer {
		return examiner.InquireReport(ctx, q)
	}
	return actors.Report{}, false
}

// examinableProvider is a provider that implements payment.ReportInquirer with a function of the test.
type examinableProvider struct {
	*fakeProvider
	examine func(q *actors.Inquiry) (actors.Report, bool)
}

// InquireReport implements payment.ReportInquirer.
func (e examinableProvider) InquireReport(_ context.Context, q *actors.Inquiry) (actors.Report, bool) {
	return e.examine(q)
}

// providerUpdate makes the terminal announce an update of a transaction, and waits for the
// consequences.
func (f *fixture) providerUpdate(terminal, id ledger.ID) {
	f.t.Helper()
	if err := f.ProviderUpdate(org, terminal, id); err != nil {
		f.t.Fatal(err)
	}
	f.Runtime.Quiesce()
}

// answerAlways returns a fake provider's answer to inquiries: always the verdict.
func answerAlways(v payment.Verdict) func(context.Context, *actors.Inquiry) actors.Outcome {
	return func(context.Context, *actors.Inquiry) actors.Outcome { return actors.Outcome{Verdict: v} }
}

func TestProviderUpdateTriggersAnInquiry(t *testing.T) {
	for card, status := range map[string]payment.Status{"4000000000000077": payment.Charging, "4000000000003220": payment.ActionRequired} {
		rail := &fakeProvider{inquire: answerAlways(payment.VerdictCharged)}
		f := openWith(t, func(f *fixture) { f.useProvider(rail) })
		id := f.create(payment.Payment, card, 70, "").Record.ID
		f.wantStatus(id, status, "")
		f.providerUpdate(f.terminals[0].ID, id)
		f.wantStatus(id, payment.Charged, "")
	}
}

// The announcement is not trusted: only the provider's answer to the inquiry counts.
func TestProviderUpdateIsNotTrustedWithoutAnInquiry(t *testing.T) {
	rail := &fakeProvider{inquire: answerAlways(payment.VerdictPending)}
	f := openWith(t, func(f *fixture) { f.useProvider(rail) })
	id := f.create(payment.Payment, "4000000000000077", 70, "").Record.ID
	pathBefore := f.statusPath(id)
	for range 3 {
		f.providerUpdate(f.terminals[0].ID, id)
	}
	f.wantStatus(id, payment.Charging, "")
	f.wantPath(id, pathBefore)
	if n := rail.inquired.Load(); n != 3 {
		t.Errorf("asked %d times for three hints", n)
	}
}

func TestProviderUpdateForAnotherTerminalIsIgnored(t *testing.T) {
	rail := &fakeProvider{inquire: answerAlways(payment.VerdictCharged)}
	f := openWith(t, func(f *fixture) { f.useProvider(rail) })
	id := f.create(payment.Payment, "4000000000000077", 70, "").Record.ID
	f.providerUpdate(f.terminals[1].ID, id)
	f.providerUpdate(f.terminals[0].ID, uuid.New())
	if err := f.ProviderUpdate(uuid.New(), f.terminals[0].ID, id); err != nil {
		t.Error(err)
	}
	if n := rail.inquired.Load(); n != 0 {
		t.Errorf("asked %d times", n)
	}
	f.wantStatus(id, payment.Charging, "")
}

// The answer of the call in progress may be older than the update.
func TestProviderUpdateDuringACallIsHandledAfterwards(t *testing.T) {
	inquired, release := make(chan struct{}), make(chan struct{})
	rail := &fakeProvider{}
	rail.inquire = func(context.Context, *actors.Inquiry) actors.Outcome {
		if rail.inquired.Load() > 1 {
			return actors.Outcome{Verdict: payment.VerdictCharged}
		}
		close(inquired)
		<-release
		return actors.Outcome{Verdict: payment.VerdictPending}
	}
	f := openWith(t, func(f *fixture) { f.useProvider(rail) })
	id := f.create(payment.Payment, "4000000000000077", 70, "").Record.ID
	if err := f.ProviderUpdate(org, f.terminals[0].ID, id); err != nil {
		t.Fatal(err)
	}
	<-inquired
	if err := f.ProviderUpdate(org, f.terminals[0].ID, id); err != nil {
		t.Fatal(err)
	}
	close(release)
	f.Runtime.Quiesce()
	f.wantStatus(id, payment.Charged, "")
	if n := rail.inquired.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

func TestProviderUpdateDuringARefundInquiresTheRefund(t *testing.T) {
	var questions []actors.Inquiry
	rail := &fakeProvider{}
	rail.inquire = func(_ context.Context, q *actors.Inquiry) actors.Outcome {
		questions = append(questions, *q)
		return actors.Outcome{Verdict: payment.VerdictCharged}
	}
	f := openWith(t, func(f *fixture) { f.useProvider(rail) })
	id := f.create(payment.Payment, "4000000000007726", 70, "").Record.ID
	f.mustRecord(f.Refund(amountCommand(id, 30)))
	f.wantStatus(id, payment.Refunding, "")
	f.providerUpdate(f.terminals[0].ID, id)
	f.wantStatus(id, payment.Refunded, "")
	f.mustRecord(f.Refund(amountCommand(id, 20)))
	f.providerUpdate(f.terminals[0].ID, id)
	if len(questions) != 2 || questions[0].Operation != actors.Refund || questions[0].Amount != money.FromUint64(30) || !questions[0].RefundedAmount.IsZero() ||
		questions[1].Amount != money.FromUint64(20) || questions[1].RefundedAmount != money.FromUint64(30) {
		t.Errorf("asked %+v", questions)
	}
}

// After "unknown reference" the provider is not asked before the due instant, even after an update.
func TestProviderUpdateDoesNotHastenTheInquiryAfterUnknownReference(t *testing.T) {
	f, id := openWithLostCall(t, payment.Payment, &flaky{before: true})
	for range 3 {
		f.providerUpdate(f.terminals[0].ID, id)
		if r := f.readRecord(id); r.Status != payment.Authorizing || r.NotFoundAnswers != 1 {
			t.Fatalf("%s, not known %d times", r.Status, r.NotFoundAnswers)
		}
	}
}

func TestProviderUpdateExaminesAnEndedTransaction(t *testing.T) {
	for card, c := range map[string]struct {
		status      payment.Status
		report      actors.ReportKind
		want        payment.Status
		settledLate bool
	}{
		"4242424242424242": {payment.Charged, actors.Reversal, payment.Reversed, false},
		"4000000000000002": {payment.Rejected, actors.Correction, payment.Failed, false},
		"4000000000000119": {payment.Failed, actors.LateSettlement, payment.Failed, true},
	} {
		examinable := examinableProvider{fakeProvider: &fakeProvider{}}
		examinable.examine = func(q *actors.Inquiry) (actors.Report, bool) {
			return actors.Report{Org: org, Reference: q.Reference, Terminal: q.Terminal.ID, Kind: c.report, Failure: payment.Failure{Detail: "said so"}}, true
		}
		f := openWith(t, func(f *fixture) {
			f.skipRailComparison = true
			f.wrapProvider = func(p actors.Provider) actors.Provider { examinable.fakeProvider.Provider = p; return examinable }
		})
		id := f.create(payment.Payment, card, 70, "").Record.ID
		if got := f.readRecord(id).Status; got != c.status {
			t.Fatalf("%s is %s", card, got)
		}
		f.providerUpdate(f.terminals[0].ID, id)
		if r := f.readRecord(id); r.Status != c.want || r.LateSettlement != c.settledLate {
			t.Errorf("%s: a report %v makes %s %s, settled late %v", card, c.report, c.status, r.Status, r.LateSettlement)
		}
	}
}

func TestProviderUpdateWithoutAnExaminerChangesNothing(t *testing.T) {
	f := open(t) // the simulator is not a ReportInquirer
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	pathBefore := f.statusPath(id)
	f.providerUpdate(f.terminals[0].ID, id)
	f.wantPath(id, pathBefore)
}

// Every inquiry contains the charge's stored state for its provider.
func TestInquiriesContainTheStoredChargeState(t *testing.T) {
	var states []actors.ChargeState
	rail := &fakeProvider{}
	rail.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
		states = append(states, call.ChargeState)
		return actors.Outcome{Verdict: payment.VerdictPending, Meta: []byte(`{"their_id":"7"}`), InquireAfter: time.Second}
	}
	rail.inquire = func(_ context.Context, q *actors.Inquiry) actors.Outcome {
		states = append(states, q.ChargeState)
		return actors.Outcome{Verdict: payment.VerdictAction, Action: &payment.Action{Page: "https://rail.example"}, InquireAfter: time.Second}
	}
	f := openWith(t, func(f *fixture) { f.useProvider(rail) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.restart()
	f.advance(time.Second)
	f.wantStatus(id, payment.ActionRequired, "")
	f.providerUpdate(f.terminals[0].ID, id)
	inCall, inFirstInquiry, inLastInquiry := states[0], states[1], states[len(states)-1]
	if inCall.Meta != nil || inCall.ActionKnown || inCall.ChargedAmount != money.FromUint64(70) || inCall.SubmittedSince.Before(start) || inCall.SubmittedSince.After(start.Add(time.Second)) {
		t.Errorf("the call has %+v", inCall)
	}
	if string(inFirstInquiry.Meta) != `{"their_id":"7"}` || inFirstInquiry.ActionKnown || !inFirstInquiry.SubmittedSince.Equal(inCall.SubmittedSince) {
		t.Errorf("the first inquiry has %+v", inFirstInquiry)
	}
	if !inLastInquiry.ActionKnown || string(inLastInquiry.Meta) != `{"their_id":"7"}` {
		t.Errorf("the inquiry of a payer who returned has %+v", inLastInquiry)
	}
}

// A charge that was given up because the provider has said twice that it never arrived may have moved money after all. The
// announcement of this must lead to an inquiry, because no due instant follows.
func TestProviderUpdateOfAChargeThatNeverArrivedIsExamined(t *testing.T) {
	rail := &fakeProvider{
		submit:  func(context.Context, *actors.Call) actors.Outcome { return lostAnswer },
		inquire: answerAlways(payment.VerdictNotFound),
	}
	f := openWith(t, func(f *fixture) {
		f.skipRailComparison = true
		f.wrapProvider = func(p actors.Provider) actors.Provider {
			rail.Provider = p
			return examinableProvider{rail, func(q *actors.Inquiry) (actors.Report, bool) {
				return actors.Report{Org: org, Reference: q.Reference, Terminal: q.Terminal.ID, Kind: actors.LateSettlement}, true
			}}
		}
	})
	id := f.create(payment.Payout, "4242424242424242", 70, "").Record.ID
	f.advance(time.Minute)
	if r := f.wantStatus(id, payment.Failed, "interrupted"); r.LateSettlement || r.NotFoundAnswers == 0 {
		t.Fatalf("it was given up with %d answers, late %v", r.NotFoundAnswers, r.LateSettlement)
	}
	f.providerUpdate(f.terminals[1].ID, id)
	if !f.readRecord(id).LateSettlement {
		t.Error("the late money is not booked")
	}
}

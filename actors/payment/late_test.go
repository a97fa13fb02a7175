package payment_test

import (
	"context"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// reportAndWait makes the rail report something about a transaction, and waits for the immediate
// consequences.
func (f *fixture) reportAndWait(id ledger.ID, kind actors.ReportKind, reason string) {
	f.t.Helper()
	f.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.Reported(actors.Report{
		Org: org, Reference: id, Terminal: f.readRecord(id).Terminal, Kind: kind, Failure: payment.Failure{Detail: reason},
	}))
	f.Runtime.Quiesce()
}

// Entries of a payment that settled after its transaction had ended: the first books the money, and the second returns it.
const (
	suspenseEntry = "settle_late posted: Dr A:provider 70, Cr L:suspense:1 70"
	returnEntry   = "gave_back posted: Cr A:provider 70, Dr L:suspense:1 70"
)

func TestLateSettlementIsHeldInSuspenseAndReturned(t *testing.T) {
	for name, card := range map[string]string{"cancelled": "4000000000000077", "declined": "4000000000000002", "failed": "4000000000000119"} {
		t.Run(name, func(t *testing.T) {
			f := openWith(t, func(f *fixture) { f.useProvider(scriptedProvider(actors.Refund, done)) })
			closedRecord := f.create(payment.Payment, card, 70, "").Record
			if name == "cancelled" {
				closedRecord = f.mustRecord(f.Cancel(partnerCommand(closedRecord.ID)))
			}
			f.reportAndWait(closedRecord.ID, actors.LateSettlement, "")
			f.advance(time.Second)
			r := f.wantStatus(closedRecord.ID, closedRecord.Status, failureText(closedRecord.Failure))
			if !r.LateSettlement || refundID(r) == (ledger.ID{}) || refundMsg(r) != "refunded" || r.FinishedAt != closedRecord.FinishedAt {
				t.Errorf("%+v", r)
			}
			f.wantEntries(r.ID, suspenseEntry, returnEntry)
			f.wantBalance("100000 / 0")
			f.wantSubmissions(r.ID, actors.Refund, 1)
			f.reportAndWait(r.ID, actors.LateSettlement, "") // the rail repeats the report
			f.advance(time.Hour)
			f.wantEntries(r.ID, suspenseEntry, returnEntry)
			f.wantSubmissions(r.ID, actors.Refund, 1)
		})
	}
}

func TestMoneyInSuspenseStaysIfTheRailRefusesTheReturn(t *testing.T) {
	f := openWith(t, func(f *fixture) {
		f.useProvider(scriptedProvider(actors.Refund, actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}}))
	})
	id := f.create(payment.Payment, "4000000000000002", 70, "").Record.ID
	f.reportAndWait(id, actors.LateSettlement, "")
	f.advance(time.Hour)
	if r := f.wantStatus(id, payment.Rejected, "card_declined"); refundMsg(r) != "no" {
		t.Errorf("%q", refundMsg(r))
	}
	f.wantEntries(id, suspenseEntry)
}

func TestLostReturnOfMoneyInSuspenseIsInquired(t *testing.T) {
	provider := scriptedProvider(actors.Refund, lostAnswer).answerInquiries(actors.Refund, actors.Outcome{Verdict: payment.VerdictPending, InquireAfter: time.Minute}, done)
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, "4000000000000002", 70, "").Record.ID
	f.reportAndWait(id, actors.LateSettlement, "")
	f.advance(time.Second)
	f.restart()
	f.advance(time.Hour)
	f.wantEntries(id, suspenseEntry, returnEntry)
	f.wantSubmissions(id, actors.Refund, 1)
}

// A payout that settles after its rejection cannot be returned.
func TestLatePayoutStaysInSuspense(t *testing.T) {
	f := openWith(t, func(f *fixture) { f.useProvider(new(fakeProvider)) })
	id := f.create(payment.Payout, "4000000000000002", 70, "").Record.ID
	f.reportAndWait(id, actors.LateSettlement, "")
	f.advance(time.Hour)
	provider := "A:provider:" + f.terminals[1].ID.String()
	f.wantEntries(id,
		"authorise pending: Dr L:partner:1:available 70, Cr "+provider+" 70", "decline void: Dr L:partner:1:available 70, Cr "+provider+" 70",
		"settle_late posted: Cr "+provider+" 70, Dr L:suspense:1 70")
	f.wantSubmissions(id, actors.Refund, 0)
}

// A rail's report that arrives during a call is handled after the call.
func TestSettlementReportedDuringAVoidIsRecordedAfterIt(t *testing.T) {
	for _, c := range []struct {
		name          string
		voidOutcome   actors.Outcome
		inquiryAnswer actors.Outcome
		status        payment.Status
		entries       []string
	}{
		{"the void succeeds", done, done, payment.Failed, []string{suspenseEntry, returnEntry}},
		{"the void's outcome is unknown, then it succeeded", lostAnswer, done, payment.Failed, []string{suspenseEntry, returnEntry}},
		{"the void is refused", actors.Outcome{Verdict: payment.VerdictRefused}, done, payment.Charged,
			[]string{"settle posted: Dr A:provider 70, Cr L:partner:1:available 70"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			provider := new(fakeProvider)
			submitted, resume := make(chan ledger.ID), make(chan struct{})
			provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
				switch call.Operation {
				case actors.Refund:
					return done
				case actors.Void:
					submitted <- call.Reference
					<-resume
					return c.voidOutcome
				}
				return provider.Provider.Submit(ctx, call)
			}
			provider.inquire = func(context.Context, *actors.Inquiry) actors.Outcome { return c.inquiryAnswer }
			f := openWith(t, func(f *fixture) { f.useProvider(provider) })
			id := f.create(payment.Payment, "4000000000000077", 70, "").Record.ID
			cancelReply := f.SendCancel(partnerCommand(id))
			<-submitted
			f.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.Reported(actors.Report{Org: org, Reference: id, Terminal: f.terminals[0].ID, Kind: actors.LateSettlement}))
			close(resume)
			_ = receiveAnswer(t, cancelReply) // the cancel may succeed or fail
			f.advance(time.Hour)
			if got := f.readRecord(id).Status; got != c.status {
				t.Errorf("%s", got)
			}
			f.wantEntries(id, c.entries...)
		})
	}
}

func TestSettlementReportChargesWithoutAnInquiry(t *testing.T) {
	provider := scriptedProvider(actors.Pay, actors.Outcome{Verdict: payment.VerdictPending, InquireAfter: time.Hour})
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.reportAndWait(id, actors.LateSettlement, "")
	f.wantStatus(id, payment.Charged, "")
	f.wantBalance("100070 / 0")
	if n := provider.inquired.Load(); n != 0 {
		t.Errorf("%d inquiries", n)
	}
}

func TestCorrectedRejectionBecomesAFailure(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4000000000000002", 70, "").Record.ID
	for range 2 {
		f.reportAndWait(id, actors.Correction, "processing_error")
		f.wantStatus(id, payment.Failed, "processing_error")
	}
	f.wantPath(id, "created new authorizing rejected failed")
	for _, c := range []struct {
		card string
		want payment.Status
	}{{"4242424242424242", payment.Charged}, {"4000000000000077", payment.Charging}, {redirect, payment.ActionRequired}} {
		otherID := f.create(payment.Payment, c.card, 70, "").Record.ID
		f.reportAndWait(otherID, actors.Correction, "processing_error")
		f.wantStatus(otherID, c.want, "")
	}
	f.terminals = nil
	unroutedID := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.reportAndWait(unroutedID, actors.Correction, "processing_error")
	f.wantStatus(unroutedID, payment.Rejected, "no terminal available")
}

func TestReportFromAnotherTerminalIsIgnored(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	for _, kind := range []actors.ReportKind{actors.Reversal, actors.Correction, actors.LateSettlement} {
		f.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.Reported(actors.Report{Org: org, Reference: id, Terminal: f.terminals[1].ID, Kind: kind}))
	}
	f.Runtime.Quiesce()
	f.wantStatus(id, payment.Charged, "")
}

// If the rail takes a payment back during a refund, the return waits for the refund's result. It covers only
// the amount that has not been refunded.
func TestReversalDuringARefundReturnsTheRest(t *testing.T) {
	for _, c := range []struct {
		name          string
		refundOutcome actors.Outcome
		inquiryAnswer actors.Outcome
		returnAmount  uint64
		entry         string
	}{
		{"the refund succeeds later", actors.Outcome{Verdict: payment.VerdictPending, InquireAfter: time.Second}, done, 40, "return posted: Cr A:provider 40, Dr L:partner:1:available 40"},
		{"the refund is refused later", actors.Outcome{Verdict: payment.VerdictPending, InquireAfter: time.Second}, actors.Outcome{Verdict: payment.VerdictRefused}, 70,
			"return posted: Cr A:provider 70, Dr L:partner:1:available 70"},
		{"the refund's outcome is unknown, then it succeeded", lostAnswer, done, 40, "return posted: Cr A:provider 40, Dr L:partner:1:available 40"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := openWith(t, func(f *fixture) {
				f.useProvider(scriptedProvider(actors.Refund, c.refundOutcome).answerInquiries(actors.Refund, c.inquiryAnswer))
			})
			id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
			f.mustRecord(f.Refund(amountCommand(id, 30)))
			f.reportAndWait(id, actors.Reversal, "the bank's own words")
			if r := f.readRecord(id); r.Status == payment.Reversed {
				t.Error("reversed under a refund")
			}
			f.advance(time.Minute)
			r := f.wantStatus(id, payment.Reversed, "the bank's own words")
			if r.Failure.Code != payment.TakenBack {
				t.Errorf("reversed for %+v", r.Failure)
			}
			returnRecord := f.wantStatus(r.ReturnID, payment.Charged, "")
			if returnRecord.Type != payment.Payout || returnRecord.Amount != money.FromUint64(c.returnAmount) || string(returnRecord.MerchantMeta) != `{"reversal_of":"`+id.String()+`"}` {
				t.Errorf("the return is %+v", returnRecord)
			}
			f.wantEntries(r.ReturnID, c.entry)
			f.wantBalance("100000 / 0")
			_, err := f.Refund(amountCommand(id, 0))
			f.wantRefusal(err, ledger.NotReversible)
		})
	}
}

func TestReversalAfterAFullRefundReturnsNothing(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.mustRecord(f.Refund(amountCommand(id, 0)))
	f.reportAndWait(id, actors.Reversal, "taken_back")
	f.wantStatus(id, payment.Refunded, "")
	f.wantBalance("100000 / 0")
	if n := f.Runtime.ActorsWithWork(); n != 0 {
		t.Errorf("%d actors stay", n)
	}
}

func TestReversalAfterAPartialCommitReturnsTheCapturedAmount(t *testing.T) {
	f := openTwoPhase(t, unchanged)
	id := f.create(payment.Payment, "4000000000000259", 70, "").Record.ID
	f.mustRecord(f.Commit(amountCommand(id, 50)))
	f.advance(time.Minute)
	r := f.wantStatus(id, payment.Reversed, "taken_back")
	if returnRecord := f.readRecord(r.ReturnID); returnRecord.Amount != money.FromUint64(50) {
		t.Errorf("%v is taken back", returnRecord.Amount)
	}
	f.wantBalance("100000 / 0")
}

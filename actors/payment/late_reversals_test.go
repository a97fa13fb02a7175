package payment_test

import (
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/payment"
)

const takenBackEntry = "take_back_late posted: Cr A:provider 70, Dr L:suspense:1 70"

// suspense returns the balance of the partner's suspense account.
func (f *fixture) suspense() string {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	totals, err := v.Totals(org, ledger.Account{Path: ledger.Suspense(1), Asset: usd})
	if err != nil {
		f.t.Fatal(err)
	}
	return totals.Balance(ledger.Credit).String()
}

// reportLate makes the first terminal's rail report a charge.
func (f *fixture) reportLate(id ledger.ID, kind actors.ReportKind) {
	f.t.Helper()
	f.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.Reported(actors.Report{
		Org: org, Reference: id, Terminal: f.terminals[0].ID, Kind: kind, Failure: payment.Failure{Detail: "fraud"},
	}))
	f.Runtime.Quiesce()
}

// If the rail takes late money back, nothing is left to return: the suspense account is empty, and the provider is not
// asked for a refund any more. A report names the charge. If that is the charge of an ended attempt, the attempt's
// transaction passes the report on to the transaction that returns the money.
func TestChargebackEndsLateMoney(t *testing.T) {
	refusal := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "it is charged back"}}
	pending := actors.Outcome{Verdict: payment.VerdictPending, InquireAfter: time.Minute}
	for _, c := range []struct {
		name       string
		refund     actors.Outcome
		inquiry    actors.Outcome
		wait       time.Duration // time until the chargeback is reported
		requested  int           // number of refunds that the provider was asked for
		entriesEnd string        // entries that follow the entry of the late money
	}{
		{"before its refund is requested", done, done, 0, 0, takenBackEntry},
		{"after the rail has refused its refund", refusal, done, time.Second, 1, takenBackEntry},
		{"during its refund, which the rail then refuses", pending, refusal, time.Second, 1, takenBackEntry},
		{"during its refund, which succeeds", pending, done, time.Second, 1, "gave_back posted: Cr A:provider 70, Dr L:suspense:1 70"},
		{"after its refund", done, done, time.Second, 1, "gave_back posted: Cr A:provider 70, Dr L:suspense:1 70"},
	} {
		for _, ended := range []bool{false, true} {
			name := c.name + ", of a rejected payment"
			if ended {
				name = c.name + ", of an ended attempt"
			}
			t.Run(name, func(t *testing.T) {
				f := openWith(t, func(f *fixture) {
					f.useProvider(scriptedProvider(actors.Refund, c.refund).answerInquiries(actors.Refund, c.inquiry))
				})
				var id, late ledger.ID
				entry := suspenseEntry
				if ended {
					id = f.createHosted("").Record.ID
					f.enterCard(id, declined)
					late, entry = paymentactor.LateTransactionID(org, f.terminals[0].ID, id), lateEntry
				} else {
					id = f.create(payment.Payment, declined, 70, "").Record.ID
					late = id
				}
				f.reportLate(id, actors.LateSettlement)
				f.advance(c.wait)
				f.reportLate(id, actors.Reversal)
				f.advance(time.Hour)
				f.restart()
				f.reportLate(id, actors.LateSettlement) // after a restart all reports come again
				f.reportLate(id, actors.Reversal)
				f.advance(time.Hour)
				f.wantEntries(late, entry, c.entriesEnd)
				f.wantSubmissions(id, actors.Refund, c.requested)
				if r := f.readRecord(late); r.Status != payment.Rejected || failureText(r.Failure) != "card_declined" || r.LateChargeback != (c.entriesEnd == takenBackEntry) {
					t.Errorf("%+v", r)
				}
				if got := f.suspense(); got != "0" {
					t.Errorf("%s is in suspense", got)
				}
				if n := f.Runtime.ActorsWithWork(); n != 0 {
					t.Errorf("%d actors stay", n)
				}
			})
		}
	}
}

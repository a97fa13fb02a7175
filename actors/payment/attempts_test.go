package payment_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// enterCard makes the payer of a hosted payment enter a card, and returns the record afterwards.
func (f *fixture) enterCard(id ledger.ID, number string) *payment.Record {
	f.t.Helper()
	return f.mustRecord(f.Continue(cardContinue(id, number)))
}

// wantEnded checks the failures of a hosted payment's ended attempts, and that each attempt has a reference of its own.
func (f *fixture) wantEnded(id ledger.ID, want ...string) *payment.Record {
	f.t.Helper()
	r := f.readRecord(id)
	references := map[ledger.ID]bool{}
	var failures []string
	for i := range r.EndedAttempts {
		failures, references[r.EndedAttempts[i].Reference] = append(failures, failureText(r.EndedAttempts[i].Last().Failure)), true
	}
	if r.Terminal != (ledger.ID{}) {
		references[r.ChargeReference()] = true
	}
	attempts := len(r.EndedAttempts)
	if r.Terminal != (ledger.ID{}) {
		attempts++
	}
	if !slices.Equal(failures, want) || len(references) != attempts || attempts > 0 && !references[id] {
		f.t.Errorf("the attempts ended with %q, want %q; references %v of %v", failures, want, references, id)
	}
	return r
}

func TestRefusedAttemptReleasesWhatItReserved(t *testing.T) {
	f := openWith(t, func(f *fixture) { f.limits = limitsFilledBy(70)[:3] })
	f.setFee(5)
	id := f.createHosted("").Record.ID
	if r := f.enterCard(id, declined); r.Status != payment.Created || r.AttemptsLeft() != 2 || r.Volumes != nil || r.Fee.String() != "0" || r.FinishedAt != 0 {
		t.Errorf("%+v", r)
	}
	f.wantStatus(id, payment.Created, "card_declined")
	if r := f.enterCard(id, "4242424242424242"); r.Status != payment.Charged || r.Failure != (payment.Failure{}) || r.CardLast4 != "4242" {
		t.Errorf("the limits that the payment fills refuse its second attempt: %+v", r)
	}
	f.wantEnded(id, "card_declined")
	f.wantPath(id, "created new authorizing created new authorizing charging charged")
	f.wantBalance("100065 / 0")
}

// Each attempt begins with the first terminal, and fails over to the others.
func TestEachAttemptTriesAllTerminals(t *testing.T) {
	f, ids := openThreeTerminals(t, 0, func(f *fixture) {})
	f.terminals = slices.DeleteFunc(slices.Clone(f.terminals), func(terminal *directory.Terminal) bool { return terminal.ID == ids[2] })
	id := f.createHosted("").Record.ID
	for range 2 {
		f.enterCard(id, "4242424242424242")
	}
	r := f.wantEnded(id, "forced_by_terminal", "forced_by_terminal")
	for _, ended := range r.EndedAttempts {
		if len(ended.Terminals) != 2 || ended.Terminals[0].Terminal != ids[0] || ended.Terminals[1].Terminal != ids[1] {
			t.Errorf("an attempt was made at %+v", ended.Terminals)
		}
		if n := f.submissions(ended.Reference, actors.Pay); n != 2 {
			t.Errorf("%d calls with the reference %v", n, ended.Reference)
		}
	}
}

// A call that never left has moved nothing, so the payer may try again.
func TestAttemptWhoseCallNeverLeftMayBeRepeated(t *testing.T) {
	f := openWith(t, func(f *fixture) {
		f.useProvider(scriptedProvider(actors.Pay, actors.Outcome{Verdict: payment.VerdictNotSent}, done))
	})
	id := f.createHosted("").Record.ID
	f.enterCard(id, "4242424242424242")
	f.wantStatus(id, payment.Created, "processing_error")
	f.enterCard(id, "4242424242424242")
	f.wantStatus(id, payment.Charged, "")
	if r := f.wantEnded(id, "processing_error"); r.EndedAttempts[0].Last().Outcome != payment.AttemptNotSent {
		t.Errorf("%+v", r.EndedAttempts[0])
	}
}

// If an attempt's outcome is unknown, the provider's answer to an inquiry decides, even after a restart. If the answer is
// that the charge never arrived, the payment fails: the charge cannot be sent again, because the CVV is not stored.
func TestUnknownOutcomeIsInquiredByTheAttemptsReference(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []actors.Outcome
		status  payment.Status
		reason  string
	}{
		{"charged", []actors.Outcome{done}, payment.Charged, ""},
		{"refused", []actors.Outcome{{Verdict: payment.VerdictRefused}}, payment.Created, "card_declined"},
		{"failed", []actors.Outcome{{Verdict: payment.VerdictFailed}}, payment.Failed, "processing_error"},
		{"never arrived", []actors.Outcome{notFound}, payment.Failed, "interrupted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var inquired atomic.Value
			rail := scriptedProvider(actors.Pay, actors.Outcome{Verdict: payment.VerdictRefused}, lostAnswer).answerInquiries(actors.Pay, c.answers...)
			answer := rail.inquire
			rail.inquire = func(ctx context.Context, q *actors.Inquiry) actors.Outcome {
				inquired.Store(q.Reference)
				return answer(ctx, q)
			}
			f := openWith(t, func(f *fixture) { f.useProvider(rail) })
			id := f.createHosted("").Record.ID
			f.enterCard(id, "4242424242424242")
			f.enterCard(id, "4242424242424242")
			if r := f.readRecord(id); r.Status != payment.Charging || len(r.EndedAttempts) != 1 {
				t.Fatalf("%s after %d attempts", r.Status, len(r.EndedAttempts))
			}
			reference := f.readRecord(id).ChargeReference()
			f.restart()
			f.advance(time.Minute)
			f.wantStatus(id, c.status, c.reason)
			if inquired.Load() != reference || reference == id {
				t.Errorf("asked about %v, want %v", inquired.Load(), reference)
			}
		})
	}
}

// reportEnded makes the rail report that a hosted payment's first attempt has moved money after all.
func (f *fixture) reportEnded(id, reference ledger.ID) {
	f.t.Helper()
	f.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.Reported(actors.Report{Org: org, Reference: reference, Terminal: f.terminals[0].ID, Kind: actors.LateSettlement}))
	f.Runtime.Quiesce()
}

// wantLate checks that an attempt's money was booked to the suspense account and from there returned to the payer, in a
// transaction of its own.
func (f *fixture) wantLate(id, reference ledger.ID, status payment.RefundStatus, entries ...string) {
	f.t.Helper()
	late := f.readRecord(paymentactor.LateTransactionID(org, f.terminals[0].ID, reference))
	if late.Status != payment.Rejected || late.AttemptOf != id || string(late.MerchantMeta) != `{"attempt_of":"`+id.String()+`"}` || late.NotifiedChanges+late.UnnotifiedChanges+late.UnselectedChanges != 0 {
		f.t.Errorf("%+v", late)
	}
	if refund := late.LastRefund(); refund == nil || refund.Status != status || refund.Amount != late.Amount {
		f.t.Errorf("returned by %+v", refund)
	}
	f.wantEntries(late.ID, entries...)
	f.wantSubmissions(reference, actors.Refund, 1)
}

const lateEntry = "settle_attempt posted: Dr A:provider 70, Cr L:suspense:1 70"

func TestLateMoneyOfAnEndedAttemptIsReturnedWhateverTheStatus(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(f *fixture, id ledger.ID) // called after the first attempt was refused
		status  payment.Status
		balance string
		finally payment.Status // the status an hour later
	}{
		{"created again", func(*fixture, ledger.ID) {}, payment.Created, "100000 / 0", payment.Rejected},
		{"waits for another challenge", func(f *fixture, id ledger.ID) { f.enterCard(id, redirect) }, payment.ActionRequired, "100000 / 0", payment.Rejected},
		{"charged", func(f *fixture, id ledger.ID) { f.enterCard(id, "4242424242424242") }, payment.Charged, "100070 / 0", payment.Charged},
		{"refunding", func(f *fixture, id ledger.ID) {
			f.enterCard(id, delaysRefunds)
			f.mustRecord(f.Refund(amountCommand(id, 30)))
		}, payment.Refunding, "100070 / 30", payment.Refunded},
		{"cancelled", func(f *fixture, id ledger.ID) {
			f.mustRecord(f.CancelByPayer(paymentactor.Command{Author: ledger.ByPayer.Author(), Org: org, ID: id}))
		}, payment.Failed, "100000 / 0", payment.Failed},
		{"rejected", func(f *fixture, id ledger.ID) { f.enterCard(id, declined); f.enterCard(id, declined) }, payment.Rejected, "100000 / 0", payment.Rejected},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := openWith(t, func(f *fixture) { f.useProvider(newLateProvider()) })
			id := f.createHosted("").Record.ID
			f.enterCard(id, declined)
			c.prepare(f, id)
			before := f.readRecord(id)
			for range 2 { // the rail repeats the report
				f.reportEnded(id, id)
			}
			if r := f.readRecord(id); r.Status != c.status || r.Failure != before.Failure || len(r.Refunds) != len(before.Refunds) {
				t.Errorf("%s %v, want %s", r.Status, r.Failure, c.status)
			}
			f.wantBalance(c.balance)
			f.restart()
			f.reportEnded(id, id)
			f.advance(time.Hour)
			f.wantLate(id, id, payment.RefundSucceeded, lateEntry, "gave_back posted: Cr A:provider 70, Dr L:suspense:1 70")
			if got := f.readRecord(id).Status; got != c.finally {
				t.Errorf("it ends as %s, want %s", got, c.finally)
			}
		})
	}
}

// newLateProvider returns a provider that grants every refund of a charge that the simulator has refused.
func newLateProvider() *fakeProvider {
	rail := new(fakeProvider)
	rail.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		o := rail.Provider.Submit(ctx, call)
		if call.Operation == actors.Refund && o.Verdict == payment.VerdictRefused {
			return done
		}
		return o
	}
	return rail
}

// The money of a later attempt is found by the attempt's reference: in a poll, and after a provider's update.
func TestLateMoneyOfALaterAttemptIsFoundByItsReference(t *testing.T) {
	for _, way := range []string{"poll", "update"} {
		t.Run(way, func(t *testing.T) {
			rail := newLateProvider()
			var reported atomic.Pointer[actors.Report]
			rail.next = func(since time.Time) (time.Time, bool) {
				at := start.Add(time.Minute)
				return at, reported.Load() != nil && way == "poll" && since.Before(at)
			}
			rail.reversals = func(time.Time, time.Time) ([]actors.Report, error) { return []actors.Report{*reported.Load()}, nil }
			f := openWith(t, func(f *fixture) {
				f.skipRailComparison = true
				f.wrapProvider = func(p actors.Provider) actors.Provider {
					rail.Provider = p
					return examinableProvider{rail, func(q *actors.Inquiry) (actors.Report, bool) {
						if q.Reference != reported.Load().Reference || q.ChargedAmount != money.FromUint64(70) || q.SubmittedSince.After(start.Add(time.Second)) {
							t.Errorf("asked about %+v", q)
						}
						return *reported.Load(), true
					}}
				}
			})
			id := f.createHosted("").Record.ID
			f.enterCard(id, declined)
			f.enterCard(id, declined)
			second := f.wantEnded(id, "card_declined", "card_declined").EndedAttempts[1].Reference
			f.enterCard(id, "4242424242424242")
			reported.Store(&actors.Report{Org: org, Reference: second, Terminal: f.terminals[0].ID, Kind: actors.LateSettlement, At: start})
			if way == "update" {
				f.providerUpdate(f.terminals[0].ID, second)
				f.providerUpdate(f.terminals[1].ID, second) // the provider of the other terminal knows no charge with this reference
			}
			f.advance(2 * time.Minute)
			f.providerUpdate(f.terminals[0].ID, second)
			f.wantLate(id, second, payment.RefundSucceeded, lateEntry, "gave_back posted: Cr A:provider 70, Dr L:suspense:1 70")
			f.wantStatus(id, payment.Charged, "")
			f.wantBalance("100070 / 0")
		})
	}
}

func TestLateMoneyOfAnAttemptStaysInSuspenseIfTheRailRefusesItsReturn(t *testing.T) {
	f := openWith(t, func(f *fixture) {
		f.useProvider(scriptedProvider(actors.Refund, actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}}))
	})
	id := f.createHosted("").Record.ID
	f.enterCard(id, declined)
	f.reportEnded(id, id)
	f.advance(time.Second)
	f.wantLate(id, id, payment.RefundFailed, lateEntry)
	// Reports that only correct an ended attempt change nothing.
	for _, kind := range []actors.ReportKind{actors.Correction, actors.Reversal} {
		f.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.Reported(actors.Report{Org: org, Reference: id, Terminal: f.terminals[0].ID, Kind: kind}))
	}
	f.Runtime.Quiesce()
	f.wantStatus(id, payment.Created, "card_declined")
}

// An answer that comes late is about the attempt for which the provider was asked. It does not decide the present attempt.
func TestLateAnswerNeverDecidesAnotherAttempt(t *testing.T) {
	f := openWith(t, func(f *fixture) { f.useProvider(newLateProvider()) })
	id := f.createHosted("").Record.ID
	f.enterCard(id, declined)
	f.enterCard(id, redirect)
	for _, verdict := range []payment.Verdict{payment.VerdictRefused, payment.VerdictFailed, payment.VerdictCharged} {
		f.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.AnswerTo(f.terminals[0].ID, id, actors.Outcome{Verdict: verdict}))
		f.Runtime.Quiesce()
		f.wantStatus(id, payment.ActionRequired, "")
	}
	f.advance(time.Second)
	f.wantLate(id, id, payment.RefundSucceeded, lateEntry, "gave_back posted: Cr A:provider 70, Dr L:suspense:1 70")
}

// After a cancel was requested, the payer gets no further attempt, even if the provider has refused the charge
// meanwhile.
func TestRefusalAfterACancelEndsTheHostedPayment(t *testing.T) {
	rail := scriptedProvider(actors.Void, actors.Outcome{Verdict: payment.VerdictRefused})
	rail.inquire = answerAlways(payment.VerdictRefused)
	f := openWith(t, func(f *fixture) { f.useProvider(rail) })
	id := f.createHosted("").Record.ID
	f.enterCard(id, "4000000000000077")
	_, err := f.CancelByPayer(paymentactor.Command{Author: ledger.ByPayer.Author(), Org: org, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	f.wantStatus(id, payment.Rejected, "card_declined")
	f.wantEnded(id)
}

func TestCardOfAnEndedAttemptIsNotKept(t *testing.T) {
	f := open(t)
	id := f.createHosted("").Record.ID
	for _, approve := range []bool{false, true} {
		f.enterCard(id, redirect)
		if !f.hasSealedCard(id) {
			t.Error("the challenge needs the card, and it is not kept")
		}
		f.answerChallenge(id, approve)
		f.mustRecord(f.OnReturn(org, id))
		if f.hasSealedCard(id) {
			t.Errorf("after the challenge the card is still kept; approved: %v", approve)
		}
	}
	f.wantStatus(id, payment.Charged, "")
	f.wantEnded(id, "authentication_failed")
}

// The challenge page of the second attempt names the attempt by its reference.
func TestReturnByReferenceFindsTheTransaction(t *testing.T) {
	f := open(t)
	id := f.createHosted("").Record.ID
	f.enterCard(id, declined)
	f.enterCard(id, redirect)
	f.answerChallenge(id, true)
	r := f.mustRecord(f.OnChargeReturn(org, f.readRecord(id).ChargeReference()))
	if r.ID != id || r.Status != payment.Charged {
		t.Errorf("%v is %s", r.ID, r.Status)
	}
	_, err := f.OnChargeReturn(org, ledger.ID{7})
	f.wantRefusal(err, ledger.NotFound)
}

// The rail reports the chargeback of a later attempt by the attempt's reference.
func TestLaterAttemptIsRefundedAndReversedByItsReference(t *testing.T) {
	f := open(t)
	id := f.createHosted("").Record.ID
	f.enterCard(id, declined)
	f.enterCard(id, "4000000000000259")
	f.mustRecord(f.Refund(amountCommand(id, 30)))
	f.wantSubmissions(f.readRecord(id).ChargeReference(), actors.Refund, 1)
	f.advance(time.Minute)
	r := f.wantStatus(id, payment.Reversed, "taken_back")
	if returned := f.readRecord(r.ReturnID); returned.Amount != money.FromUint64(40) {
		t.Errorf("%v is taken back", returned.Amount)
	}
	f.wantBalance("100000 / 0")
}

// A record lists a bounded number of terminals, and the payer still gets every attempt.
func TestAttemptsAtManyTerminalsFitIntoTheRecord(t *testing.T) {
	f := openWith(t, func(f *fixture) {
		f.changeTerminal(0, withOutcome(simulator.FailRejected, 0))
		f.terminals[0].Notification.HostedAttempts = directory.MaxHostedAttempts
		for range 20 {
			f.addTerminal(0, withOutcome(simulator.FailRejected, 1))
		}
	})
	id := f.createHosted("").Record.ID
	for range directory.MaxHostedAttempts {
		f.enterCard(id, "4242424242424242")
	}
	r := f.wantStatus(id, payment.Rejected, "forced_by_terminal")
	if n := r.ListedTerminals(); len(r.EndedAttempts) != directory.MaxHostedAttempts-1 || n < 32 || n > 32+directory.MaxHostedAttempts {
		t.Errorf("%d attempts at %d terminals", len(r.EndedAttempts), n)
	}
}

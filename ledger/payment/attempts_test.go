package payment_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/payment"
)

// attemptTerms returns the terms of a terminal that gives the payer three attempts. The payer pays the fee on top of the
// amount.
func attemptTerms() *payment.Terms {
	t := terms(feeOnTop(0, "5"))
	t.HostedAttempts = 3
	return t
}

// enterCard routes a hosted payment with the card that its payer enters. It returns the new reference for the charge, which
// is not used in the first attempt.
func (sc *scenario) enterCard(last4 string) (reference ledger.ID) {
	sc.t.Helper()
	reference = uuid.UUID{8, byte(len(sc.record.EndedAttempts))}
	entered := payment.Credentials{Method: payment.BankCard, CardLast4: last4, AttemptedAt: ledger.MicrosOf(sc.context.Now)}
	sc.want(sc.apply(sc.context.Continue(sc.record, entered, attemptTerms(), reference)), "route new", "authorise authorizing", "due 10s, ask submit, reserve 1010")
	return reference
}

func TestARefusedAttemptGoesBackToCreated(t *testing.T) {
	sc := newHosted(t)
	sc.enterCard("0002")
	if r := sc.record; r.ChargeReference() != transactionID || r.AttemptsLeft() != 2 {
		t.Errorf("reference %v, %d attempts left", r.ChargeReference(), r.AttemptsLeft())
	}
	sc.context.Now = sc.context.Now.Add(10 * time.Minute)
	sc.want(sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictRefused}), "end_attempt created", "due 20m0s, release 1010")
	r := sc.record
	if !r.AwaitsPayer() || r.Failure.Code != payment.CardDeclined || r.AttemptsLeft() != 2 || r.Method != "" || r.AttemptedAt != 0 || amountsText(r) != "1000 1000 1000 0" {
		t.Errorf("%+v", r)
	}
	ended := r.EndedAttempts[0]
	if last := ended.Last(); ended.Reference != transactionID || last.Total.String() != "1005" || ended.Credentials.CardLast4 != "0002" ||
		last.Terminal != terminalID || last.Outcome != payment.AttemptRefused || last.Failure.Code != payment.CardDeclined || last.At != ledger.MicrosOf(sc.context.Now) {
		t.Errorf("%+v", ended)
	}
	reference := sc.enterCard("4242")
	if r := sc.record; r.ChargeReference() != reference || r.Failure != (payment.Failure{}) || r.AttemptsLeft() != 1 {
		t.Errorf("%+v", r)
	}
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
	if r := sc.record; r.Status != payment.Charged || len(r.EndedAttempts) != 1 {
		t.Errorf("%s after %d attempts", r.Status, len(r.EndedAttempts))
	}
}

// In each case the second of three attempts ends. The payment may return to created only after a definite refusal within the
// payer's time.
func TestOnlyADefiniteRefusalLeavesAnotherAttempt(t *testing.T) {
	action := payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: &payment.Action{Type: "redirect"}}
	for _, c := range []struct {
		name   string
		before []payment.ProviderAnswer
		after  time.Duration
		end    payment.Verdict
		want   payment.Status
	}{
		{"refused", nil, 0, payment.VerdictRefused, payment.Created},
		{"refused while it was charging", []payment.ProviderAnswer{{Verdict: payment.VerdictPending}}, 0, payment.VerdictRefused, payment.Created},
		{"refused in a status of the rail's own", []payment.ProviderAnswer{{Verdict: payment.VerdictPending, Status: payment.AuthRequired}}, 0, payment.VerdictRefused, payment.Created},
		{"refused by the payer", []payment.ProviderAnswer{action}, 0, payment.VerdictRefused, payment.Created},
		{"refused in the last microsecond", nil, 30*time.Minute - time.Microsecond, payment.VerdictRefused, payment.Created},
		{"refused after the payer's time", nil, 30 * time.Minute, payment.VerdictRefused, payment.Rejected},
		{"never left", nil, 0, payment.VerdictNotSent, payment.Created},
		{"failed", nil, 0, payment.VerdictFailed, payment.Failed},
		{"unknown", nil, 0, payment.VerdictUnknown, payment.Charging},
		{"held, then refused", []payment.ProviderAnswer{{Verdict: payment.VerdictHeld}}, 0, payment.VerdictRefused, payment.Failed},
	} {
		sc := newHosted(t)
		sc.enterCard("0002")
		sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictRefused})
		sc.enterCard("4242")
		for _, answer := range c.before {
			sc.onAnswer(answer)
		}
		sc.context.Now = sc.context.Now.Add(c.after)
		sc.onAnswer(payment.ProviderAnswer{Verdict: c.end})
		if got := sc.record.Status; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTheLastRefusalEndsAHostedPayment(t *testing.T) {
	sc := newHosted(t)
	for _, want := range []payment.Status{payment.Created, payment.Created, payment.Rejected} {
		sc.enterCard("0002")
		sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictRefused})
		if got := sc.record.Status; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestThePayersTimeEndsAHostedPaymentBetweenAttempts(t *testing.T) {
	sc := newHosted(t)
	sc.enterCard("0002")
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictRefused})
	_, d, decided := sc.onDue(30 * time.Minute)
	if !decided {
		t.Fatal("nothing is due")
	}
	sc.want(d, "expire rejected", "final")
}

func TestThePayersCancelEndsWhatWaitsForIt(t *testing.T) {
	sc := newHosted(t)
	d, err := sc.context.CancelByPayer(sc.record, otherID)
	if err != nil {
		t.Fatal(err)
	}
	sc.want(sc.apply(d), "abandon failed", "final")
	if sc.record.Failure.Code != payment.CancelledByCaller {
		t.Errorf("%+v", sc.record.Failure)
	}
	_, err = sc.context.CancelByPayer(sc.record, otherID)
	wantRefused(t, err, ledger.NotReversible)

	sc = newHosted(t)
	sc.enterCard("0077")
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictPending})
	sc.want(sc.onRequest(sc.context.CancelByPayer(sc.record, otherID)), "cancel charging", "due 10s, ask op")
	sc.onOpAnswer(payment.ProviderAnswer{Verdict: payment.VerdictRefused}) // the provider refuses the void, because it had refused the charge before
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictRefused})
	if sc.record.Status != payment.Rejected {
		t.Errorf("%s: the payer has cancelled, and may try again", sc.record.Status)
	}
	held := newScenario(t, payment.Payment, "1000", twoPhase(terms(feeDeducted(0, "0"))))
	held.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictHeld})
	_, err = held.context.CancelByPayer(held.record, otherID)
	wantRefused(t, err, ledger.NotReversible)
	payout := newScenario(t, payment.Payout, "1000", terms(feeDeducted(0, "0")))
	payout.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictPending})
	_, err = payout.context.CancelByPayer(payout.record, otherID)
	wantRefused(t, err, ledger.NotReversible)
}

func TestLateMoneyOfAnAttemptIsATransactionOfItsOwn(t *testing.T) {
	sc := newHosted(t)
	sc.enterCard("0002")
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictRefused, Meta: []byte(`{"id":"x"}`)})
	before := *sc.record
	late := &scenario{t: t, context: sc.context}
	late.want(late.apply(sc.context.SettleAttempt(sc.record, sc.record.FindRefused(terminalID, transactionID), "simulator", otherID)),
		"settle_attempt rejected: posted Dr A:provider 1005, Cr L:suspense:1 1005", "due 1ms, reserve 1005, final")
	wantUnchanged(t, before, sc.record)
	if r := late.record; r.AttemptOf != transactionID || r.ChargeReference() != transactionID || r.ID != otherID || string(r.RailMeta) != `{"id":"x"}` || amountsText(r) != "1005 1005 1005 0" {
		t.Errorf("%+v", r)
	}
	if _, _, decided := late.onDue(time.Millisecond); !decided || late.record.Op == nil {
		t.Fatal("the late money is not returned")
	}
	if amount, _ := late.record.OperationAmount(); amount.String() != "1005" {
		t.Errorf("%v is returned", amount)
	}
	late.want(late.onOpAnswer(payment.ProviderAnswer{Verdict: payment.VerdictCharged}), "gave_back rejected: posted Cr A:provider 1005, Dr L:suspense:1 1005")
}

// checkAttempts checks a hosted payment that waits for its payer: nothing has moved or is reserved, and each of its attempts
// has its own reference.
func (tx *randomTransaction) checkAttempts(r *payment.Record) {
	if r.Status == payment.Created {
		tx.wantNothingMoved("a refused attempt")
		if r.Terminal != (ledger.ID{}) || r.Volumes != nil || r.Op != nil || r.Action != nil || r.Method != "" && len(r.EndedAttempts) > 0 {
			tx.t.Fatalf("a payment that waits for its payer still has data of an attempt: %+v", r)
		}
	}
	references := map[ledger.ID]bool{r.ChargeReference(): r.Terminal != (ledger.ID{})}
	for i := range r.EndedAttempts {
		e := &r.EndedAttempts[i]
		if references[e.Reference] || (i == 0) != (e.Reference == r.ID) || e.Last().Failure.IsZero() {
			tx.t.Fatalf("attempt %d: %+v", i, e)
		}
		references[e.Reference] = true
	}
	if len(r.EndedAttempts) > 0 && len(r.EndedAttempts) >= int(r.HostedAttempts) {
		tx.t.Fatalf("%d attempts of %d have ended, and the payer may try again", len(r.EndedAttempts), r.HostedAttempts)
	}
}

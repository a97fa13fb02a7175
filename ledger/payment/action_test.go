package payment_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/payment"
)

// charging → action_required: auth_params filled, the payer's time begins.
func TestAPayerHasUntilTheActionsTimeIsOver(t *testing.T) {
	l := at(t, payment.Payment, payment.Charging)
	d := l.says(payment.Answer{Verdict: payment.SaidAction, Action: &payment.Action{Type: "redirect", Method: "get", URL: "https://rail"}, KeepCard: true})
	l.is(d, "act action_required", "due 30m0s")
	a := l.r.Action
	if a.Type != "redirect" || a.URL != "https://rail" || a.Until != ledger.MicrosOf(now.Add(30*time.Minute)) || !l.r.KeepCard || !l.r.Answered() {
		t.Errorf("%+v, card kept %v", a, l.r.KeepCard)
	}
}

// The rail says when it wants to be asked, at the latest when the time is over.
func TestAnActionIsInquiredWhenItsRailWants(t *testing.T) {
	for again, want := range map[time.Duration]string{0: "due 30m0s", 5 * time.Second: "due 5s", time.Hour: "due 30m0s"} {
		l := at(t, payment.Payment, payment.Charging)
		l.is(l.says(payment.Answer{Verdict: payment.SaidAction, Action: otp, Again: again}), "act action_required", want)
	}
}

// One poll that times out does not end the polling.
func TestAnActionsRailIsPolledOnAfterATimeOut(t *testing.T) {
	l := at(t, payment.Payment, payment.Charging)
	l.says(payment.Answer{Verdict: payment.SaidAction, Action: otp, Again: 5 * time.Second})
	l.wakes(5 * time.Second)
	l.is(l.says(said["nothing"]), "await action_required", "due 10s")
	l.wakes(10 * time.Second)
	l.is(l.says(payment.Answer{Verdict: payment.SaidAction, Again: 5 * time.Second}), "await action_required", "due 5s")
	l.c.Now = now.Add(30*time.Minute - 3*time.Second)
	l.c.Due = ledger.MicrosOf(l.c.Now)
	l.is(l.says(said["nothing"]), "await action_required", "due 3s")
}

// The payer comes back, or the material is submitted: the provider goes on.
func TestACompletedActionGoesOnAtTheProvider(t *testing.T) {
	for _, material := range []bool{true, false} {
		l := at(t, payment.Payment, payment.ActionRequired)
		l.is(l.completes(material), "submit charging", "due 10s, ask op")
		if l.r.Answered() || l.r.Op.Kind != payment.OpComplete {
			t.Errorf("material %v: %+v", material, l.r.Op)
		}
		l.is(l.says(said["charged"]), "settle charged: posted Dr A:provider 100, Cr L:partner:1:available 100*", "final")
		if r := l.r; r.Action != nil || r.KeepCard || r.Op != nil || r.Error != "" {
			t.Errorf("%+v", r)
		}
	}
}

// DECISIONS: a wrong one-time password: rejected, `authentication_failed`.
func TestARefusedActionIsRejected(t *testing.T) {
	l := at(t, payment.Payment, payment.ActionRequired)
	l.completes(true)
	l.is(l.says(payment.Answer{Verdict: payment.SaidRefused, Reason: "authentication_failed"}), "decline rejected", "release 100, final")
	if l.r.Error != "authentication_failed" || l.r.Action != nil {
		t.Errorf("%q, action %v", l.r.Error, l.r.Action)
	}
}

// A call to go on that got lost fails nothing: the rail says how the charge
// stands, and that it waits for us is a call to be made again, under its name.
func TestALostCompletionIsAskedForAgain(t *testing.T) {
	l := at(t, payment.Payment, payment.ActionRequired)
	l.completes(false)
	request := l.r.Op.Request
	if ask, _, decided := l.c.Woken(l.r, true, uuid.UUID{7}); ask != payment.AskInquire || decided {
		t.Errorf("woken, it asks %v: the charge is inquired", ask)
	}
	l.is(l.says(said["ready"]), "await charging", "due 10s, ask op")
	if l.r.Op == nil || l.r.Op.Request != request {
		t.Errorf("%+v, the same operation is asked for", l.r.Op)
	}
	l.is(l.says(said["not sent"]), "await charging", "due 20s")
	if !l.r.Answered() || l.r.Op != nil {
		t.Errorf("%+v", l.r.Op)
	}
	// From now on it is as lost as the payer's return: the rail has to say it is ready.
	l.completes(false)
	l.says(said["still to act"])
	if a := l.r.Action; l.r.Status != payment.ActionRequired || string(a.Material) != `{"otp":""}` || a.Until != ledger.MicrosOf(now.Add(30*time.Minute)) {
		t.Errorf("%s %+v: the action and its deadline stay", l.r.Status, a)
	}
}

func TestAnUnknownCompletionIsAnAnswerToWhoWaits(t *testing.T) {
	l := at(t, payment.Payment, payment.ActionRequired)
	l.completes(true)
	operation := l.r.Op
	l.is(l.says(said["not known"]), "await charging", "due 10s")
	if !l.r.Answered() || operation.Heard {
		t.Errorf("answered %v; of the record decided on %v", l.r.Answered(), operation.Heard)
	}
}

func TestWhatCanNotBeCompleted(t *testing.T) {
	cancelling := at(t, payment.Payment, payment.ActionRequired)
	cancelling.cancels()
	for name, l := range map[string]*life{
		"authorizing":     at(t, payment.Payment, payment.Authorizing),
		"held":            at(t, payment.Payment, payment.PaymentHeld),
		"charged":         charged(t, payment.Payment, "100", terms(deducted(0, "0"))),
		"being cancelled": cancelling,
		"hosted":          hosted(t),
	} {
		for _, material := range []bool{true, false} {
			_, err := l.c.Complete(l.r, material, l.name())
			if err == nil {
				t.Errorf("%s, material %v: completed", name, material)
				continue
			}
			refused(t, err, ledger.Conflict)
		}
	}
	// What the rail is at takes no material; a payer may come back to it.
	l := at(t, payment.Payment, payment.Charging)
	_, err := l.c.Complete(l.r, true, l.name())
	refused(t, err, ledger.Conflict)
	l.is(l.completes(false), "submit charging", "due 10s, ask op")
	_, err = l.c.Complete(l.r, false, l.name())
	refused(t, err, ledger.Conflict) // it is under way
}

// "Material submitted after expires_at is refused; request fresh material and
// start again": at the instant itself it is not after it.
func TestMaterialAfterItsDeadlineIsRefused(t *testing.T) {
	l := at(t, payment.Payment, payment.Charging)
	l.says(payment.Answer{Verdict: payment.SaidAction, Action: &payment.Action{Material: []byte(`{}`), ExpiresAt: ledger.MicrosOf(now.Add(time.Minute))}})
	for after, late := range map[time.Duration]bool{time.Minute: false, time.Minute + time.Microsecond: true} {
		l.c.Now = now.Add(after)
		_, err := l.c.Complete(l.r, true, l.name())
		if !late && err != nil {
			t.Errorf("after %v: %v", after, err)
		} else if late {
			refused(t, err, ledger.Expired)
		}
		if _, err := l.c.Complete(l.r, false, l.name()); err != nil {
			t.Errorf("after %v, without material: %v", after, err)
		}
	}
}

// A rail's second action keeps the payer's first deadline.
func TestAnotherActionDoesNotProlongThePayersTime(t *testing.T) {
	l := at(t, payment.Payment, payment.ActionRequired)
	l.c.Now = now.Add(10 * time.Minute)
	l.is(l.says(payment.Answer{Verdict: payment.SaidAction, Action: &payment.Action{Type: "redirect"}}), "act action_required", "due 20m0s")
	if l.r.Action.Type != "redirect" || l.r.Action.Material != nil {
		t.Errorf("%+v", l.r.Action)
	}
}

func TestAKeptCardIsKeptUntilTheChargeIsOver(t *testing.T) {
	l := at(t, payment.Payment, payment.Charging)
	for _, keep := range []bool{true, false} {
		l.says(payment.Answer{Verdict: payment.SaidAction, Action: otp, KeepCard: keep})
	}
	if !l.r.KeepCard {
		t.Error("a second action forgot the card")
	}
	if l.says(said["charged"]); l.r.KeepCard {
		t.Error("it is kept for ever")
	}
}

// "A payer who does nothing for 30 minutes: rejected, `payer action expired`":
// an intent to void at the provider, whose answer decides.
func TestAPayerWhoDoesNothingIsRejected(t *testing.T) {
	for kind, void := range map[payment.Type]string{payment.Payment: "", payment.Payout: ": void Dr L:partner:1:available 100, Cr A:provider 100"} {
		l := at(t, kind, payment.ActionRequired)
		if ask, _, decided := l.wakes(30*time.Minute - time.Microsecond); ask != payment.AskInquire || decided {
			t.Fatalf("it asks %v early", ask)
		}
		_, d, decided := l.wakes(time.Microsecond)
		if !decided || !d.Outcome {
			t.Fatal("it did not lapse")
		}
		l.is(d, "lapse action_required", "due 10s, ask op")
		_, err := l.c.Complete(l.r, true, l.name())
		refused(t, err, ledger.Conflict)
		l.is(l.hears(said["charged"]), "expire rejected"+void, "release 100, final")
		if r := l.r; r.Error != "payer action expired" || r.Action != nil || r.Op != nil {
			t.Errorf("%+v", r)
		}
	}
}

// The payer acted at the last moment: the void is refused, the charge stands.
func TestALapseIsRefusedBecauseItWasChargedMeanwhile(t *testing.T) {
	l := at(t, payment.Payment, payment.ActionRequired)
	l.wakes(30 * time.Minute)
	l.is(l.hears(said["refused"]), "void_failed action_required", "due 10s, ask inquire")
	l.is(l.says(said["charged"]),
		"submit charging",
		"settle charged: posted Dr A:provider 100, Cr L:partner:1:available 100*", "final")
	if l.r.Error != "" {
		t.Errorf("%q", l.r.Error)
	}
}

// Neither voided nor charged: it is tried again, later each time.
func TestALapseThatTheProviderDoesNotGrantIsTriedAgain(t *testing.T) {
	l := at(t, payment.Payment, payment.ActionRequired)
	l.wakes(30 * time.Minute)
	l.is(l.hears(said["failed"]), "void_failed action_required", "due 10s, ask inquire")
	l.c.Now = l.c.Now.Add(10 * time.Second)
	l.is(l.says(said["still to act"]), "await action_required", "due 20s")
	_, d, decided := l.wakes(20 * time.Second)
	if !decided {
		t.Fatal("it stands still")
	}
	l.is(d, "lapse action_required", "due 10s, ask op")
}

// choose_target_destination: only a payout that offers some waits for a choice.
func TestOnlyAnOfferedDestinationCanBeChosen(t *testing.T) {
	l := at(t, payment.Payout, payment.Charging)
	l.says(payment.Answer{Verdict: payment.SaidAction, Action: &payment.Action{Destinations: []payment.Destination{{ID: "b1", Name: "One"}, {ID: "b2", Name: "Two"}}}})
	for id, want := range map[string]bool{"b1": true, "b2": true, "b3": false, "": false, "One": false} {
		if waiting, offered := l.r.Destination(id); !waiting || offered != want {
			t.Errorf("%q: waiting %v, offered %v", id, waiting, offered)
		}
	}
	l.completes(false)
	for name, r := range map[string]*payment.Record{
		"chosen already":    l.r,
		"offers none":       at(t, payment.Payment, payment.ActionRequired).r,
		"asks for nothing":  at(t, payment.Payout, payment.Charging).r,
		"is not there long": hosted(t).r,
	} {
		if waiting, _ := r.Destination("b1"); waiting {
			t.Errorf("what %s waits for a choice", name)
		}
	}
}

package payment_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/payment"
)

// When a charge becomes action_required, auth_params are set and the payer's time to act begins.
func TestActionRequiredSetsTheActionAndItsDeadline(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Charging)
	d := sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: &payment.Action{Type: "redirect", Method: "get", URL: "https://rail"}, KeepCard: true})
	sc.want(d, "act action_required", "due 30m0s")
	a := sc.record.Action
	if a.Type != "redirect" || a.URL != "https://rail" || a.Until != ledger.MicrosOf(now.Add(30*time.Minute)) || !sc.record.KeepCard || !sc.record.HasAnswer() {
		t.Errorf("%+v, card kept %v", a, sc.record.KeepCard)
	}
}

// The rail chooses the instant of the next inquiry about the charge, up to the end of the payer's time.
func TestRailChoosesTheNextInquiryOfAnAction(t *testing.T) {
	for delay, want := range map[time.Duration]string{0: "due 30m0s", 5 * time.Second: "due 5s", time.Hour: "due 30m0s"} {
		sc := inState(t, payment.Payment, payment.Charging)
		sc.want(sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: otpAction, NextInquiryIn: delay}), "act action_required", want)
	}
}

// One inquiry that times out does not stop further ones.
func TestInquiriesOfAnActionContinueAfterATimeOut(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Charging)
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: otpAction, NextInquiryIn: 5 * time.Second})
	sc.onDue(5 * time.Second)
	sc.want(sc.onAnswer(answers["nothing"]), "await action_required", "due 10s")
	sc.onDue(10 * time.Second)
	sc.want(sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, NextInquiryIn: 5 * time.Second}), "await action_required", "due 5s")
	sc.context.Now = now.Add(30*time.Minute - 3*time.Second)
	sc.context.Due = ledger.MicrosOf(sc.context.Now)
	sc.want(sc.onAnswer(answers["nothing"]), "await action_required", "due 3s")
}

// When the payer comes back or submits the material, the provider is asked to continue the charge.
func TestCompletedActionContinuesAtTheProvider(t *testing.T) {
	for _, material := range []bool{true, false} {
		sc := inState(t, payment.Payment, payment.ActionRequired)
		sc.want(sc.complete(material), "submit charging", "due 10s, ask op")
		if sc.record.HasAnswer() || sc.record.Op.Kind != payment.OpComplete {
			t.Errorf("material %v: %+v", material, sc.record.Op)
		}
		sc.want(sc.onAnswer(answers["charged"]), "settle charged: posted Dr A:provider 100, Cr L:partner:1:available 100*", "final")
		if r := sc.record; r.Action != nil || r.KeepCard || r.Op != nil || r.Failure.Describe("en") != "" {
			t.Errorf("%+v", r)
		}
	}
}

// If the payer enters a wrong one-time password, the charge is rejected with the code authentication_failed.
func TestARefusedActionIsRejected(t *testing.T) {
	sc := inState(t, payment.Payment, payment.ActionRequired)
	sc.complete(true)
	sc.want(sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.AuthenticationFailed}}), "decline rejected", "release 100, final")
	if sc.record.Failure.Code != payment.AuthenticationFailed || sc.record.Action != nil {
		t.Errorf("%q, action %v", sc.record.Failure.Describe("en"), sc.record.Action)
	}
}

// If the call that continues a charge is lost, the charge does not fail. The provider is asked about the charge. If the rail
// still waits for the call, the call is repeated with the same reference.
func TestLostCompletionIsSentAgain(t *testing.T) {
	sc := inState(t, payment.Payment, payment.ActionRequired)
	sc.complete(false)
	request := sc.record.Op.ID
	if ask, _, decided := sc.context.OnDue(sc.record, true, uuid.UUID{7}); ask != payment.InquireCharge || decided {
		t.Errorf("after a restart OnDue asks %v instead of inquiring about the charge", ask)
	}
	sc.want(sc.onAnswer(answers["ready"]), "await charging", "due 10s, ask op")
	if sc.record.Op == nil || sc.record.Op.ID != request {
		t.Errorf("the operation is %+v instead of the same one", sc.record.Op)
	}
	sc.want(sc.onAnswer(answers["not sent"]), "await charging", "due 20s")
	if !sc.record.HasAnswer() || sc.record.Op != nil {
		t.Errorf("%+v", sc.record.Op)
	}
	// The second call is lost too. The rail does not report that the payer has acted, so the payer still has to act.
	sc.complete(false)
	sc.onAnswer(answers["still to act"])
	if a := sc.record.Action; sc.record.Status != payment.ActionRequired || string(a.Material) != `{"otp":""}` || a.Until != ledger.MicrosOf(now.Add(30*time.Minute)) {
		t.Errorf("%s %+v: the action or its deadline changed", sc.record.Status, a)
	}
}

// The client that continues a charge gets a response even if the provider does not know the call yet.
func TestUnknownCompletionReleasesTheCaller(t *testing.T) {
	sc := inState(t, payment.Payment, payment.ActionRequired)
	sc.complete(true)
	operation := sc.record.Op
	sc.want(sc.onAnswer(answers["not known"]), "await charging", "due 10s")
	if !sc.record.HasAnswer() || operation.Answered {
		t.Errorf("the new record is answered: %v; the old record is answered: %v", sc.record.HasAnswer(), operation.Answered)
	}
}

func TestWhatCanNotBeCompleted(t *testing.T) {
	cancelling := inState(t, payment.Payment, payment.ActionRequired)
	cancelling.cancel()
	for name, sc := range map[string]*scenario{
		"authorizing":     inState(t, payment.Payment, payment.Authorizing),
		"held":            inState(t, payment.Payment, payment.PaymentHeld),
		"charged":         newCharged(t, payment.Payment, "100", terms(feeDeducted(0, "0"))),
		"being cancelled": cancelling,
		"hosted":          newHosted(t),
	} {
		for _, material := range []bool{true, false} {
			_, err := sc.decideContinuation(material)
			if err == nil {
				t.Errorf("%s, material %v: the continuation was accepted", name, material)
				continue
			}
			wantRefused(t, err, ledger.Conflict)
		}
	}
	// A charge that the rail is processing accepts no material, but the payer may still come back from the rail.
	sc := inState(t, payment.Payment, payment.Charging)
	_, err := sc.decideContinuation(true)
	wantRefused(t, err, ledger.Conflict)
	sc.want(sc.complete(false), "submit charging", "due 10s, ask op")
	_, err = sc.decideContinuation(false)
	wantRefused(t, err, ledger.Conflict) // an operation is under way already
}

// The specification says: "Material submitted after expires_at is refused; request fresh material and start again". At the
// deadline itself, material is still accepted.
func TestMaterialAfterItsDeadlineIsRefused(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Charging)
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: &payment.Action{Material: []byte(`{}`), ExpiresAt: ledger.MicrosOf(now.Add(time.Minute))}})
	for after, late := range map[time.Duration]bool{time.Minute: false, time.Minute + time.Microsecond: true} {
		sc.context.Now = now.Add(after)
		_, err := sc.decideContinuation(true)
		if !late && err != nil {
			t.Errorf("after %v: %v", after, err)
		} else if late {
			wantRefused(t, err, ledger.Expired)
		}
		if _, err := sc.decideContinuation(false); err != nil {
			t.Errorf("after %v, without material: %v", after, err)
		}
	}
}

// Material that lacks a required member leaves the payment unchanged. The refusal names the first missing member, in
// the rail's order.
func TestMaterialMustHaveTheRequestedMembers(t *testing.T) {
	for _, c := range []struct {
		requires  []string
		submitted []string
		field     string // the refused field; empty if the material is accepted
	}{
		{nil, nil, ""},
		{[]string{"otp"}, []string{"otp"}, ""},
		{[]string{"otp"}, []string{"otp", "more"}, ""},
		{[]string{"otp"}, nil, "additional_params_for_auth.otp"},
		{[]string{"otp"}, []string{"OTP", "signature"}, "additional_params_for_auth.otp"},
		{[]string{"signature"}, []string{"otp"}, "additional_params_for_auth.signature"},
		{[]string{"md", "pares"}, []string{"md"}, "additional_params_for_auth.pares"},
		{[]string{"md", "pares"}, nil, "additional_params_for_auth.md"},
		{[]string{"md", "pares"}, []string{"md", "pares"}, ""},
	} {
		sc := inState(t, payment.Payment, payment.Charging)
		sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: &payment.Action{Material: []byte(`{}`), Requires: c.requires}})
		before := *sc.record
		d, err := sc.context.Submit(sc.record, hasTexts(c.submitted...), sc.newRequestID())
		wantUnchanged(t, before, sc.record)
		if c.field == "" {
			if err != nil || d.ProviderRequest != payment.SubmitOperation {
				t.Errorf("%v to %v: %v", c.submitted, c.requires, err)
			}
			continue
		}
		wantRefused(t, err, ledger.Invalid)
		var refusal *ledger.Refusal
		if errors.As(err, &refusal); refusal.Field != c.field || d.Record != nil {
			t.Errorf("%v to %v: field %q, want %q", c.submitted, c.requires, refusal.Field, c.field)
		}
	}
}

// The specification says: "Request fresh material and start again". The rail publishes an expired action again. The payer's
// deadline and the stored card stay. The merchant is not notified, because the merchant's own request caused it.
func TestExpiredActionIsPublishedAgain(t *testing.T) {
	micros := func(after time.Duration) ledger.Micros { return ledger.MicrosOf(now.Add(after)) }
	sc := inState(t, payment.Payment, payment.Charging)
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, KeepCard: true, Action: &payment.Action{
		Material: []byte(`{"sequence":1}`), ExpiresAt: micros(time.Minute), Page: "https://rail/1", PageUntil: micros(5 * time.Minute),
	}})
	for _, c := range []struct {
		after                   time.Duration
		endedOnAPI, endedOnPage bool
	}{
		{time.Minute, false, false}, {time.Minute + time.Microsecond, true, true}, {30*time.Minute - time.Microsecond, true, true}, {30 * time.Minute, false, false},
	} {
		if onAPI, onPage := sc.record.ActionIsStale(micros(c.after), false), sc.record.ActionIsStale(micros(c.after), true); onAPI != c.endedOnAPI || onPage != c.endedOnPage {
			t.Errorf("after %v the action is stale in the API: %v, on the hosted page: %v", c.after, onAPI, onPage)
		}
	}
	sc.context.Now = now.Add(2 * time.Minute)
	fresh := payment.Action{
		Material: []byte(`{"sequence":2}`), ExpiresAt: micros(3 * time.Minute), Page: "https://rail/2", PageUntil: micros(6 * time.Minute), Requires: []string{"signature"},
	}
	d := sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Inquired: true, Reissued: true, Action: &fresh})
	sc.want(d, "reissue action_required", "due 28m0s")
	fresh.Until = micros(30 * time.Minute)
	if !reflect.DeepEqual(*sc.record.Action, fresh) || !sc.record.KeepCard {
		t.Errorf("%+v, card kept %v", sc.record.Action, sc.record.KeepCard)
	}
	if payment.Notifiable(&d.Events[0]) {
		t.Error("the merchant is notified of an action that the merchant asked for")
	}
	sc.context.Now = now.Add(3 * time.Minute)
	if _, err := sc.decideContinuation(true); err != nil {
		t.Error(err)
	}
	if after := 3*time.Minute + time.Microsecond; !sc.record.ActionIsStale(micros(after), false) {
		t.Errorf("after %v the new material is not stale", after)
	}
}

// The rail's page may expire before the payer's time is over. Then the action has ended only on the hosted page, because only
// the hosted page leads to the rail's page.
func TestExpiredRailPageEndsTheActionOnTheHostedPageOnly(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Charging)
	pageEnd := now.Add(5 * time.Minute)
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: &payment.Action{Page: "https://rail/1", PageUntil: ledger.MicrosOf(pageEnd)}})
	if end := ledger.MicrosOf(pageEnd); sc.record.ActionIsStale(end-1, true) || !sc.record.ActionIsStale(end, true) || sc.record.ActionIsStale(end, false) {
		t.Errorf("stale a microsecond before the page's end: %v, at its end: %v, in the API: %v", sc.record.ActionIsStale(end-1, true), sc.record.ActionIsStale(end, true), sc.record.ActionIsStale(end, false))
	}
	sc.cancel()
	if sc.record.ActionIsStale(ledger.MicrosOf(pageEnd), true) {
		t.Error("the action of a charge that is being voided would be published again")
	}
}

// If the answer has an expired action again, or no action at all, nothing changes.
func TestRepublishedExpiredActionIsNotNews(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Charging)
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: &payment.Action{Material: []byte(`{}`), ExpiresAt: ledger.MicrosOf(now.Add(time.Minute))}})
	sc.context.Now = now.Add(2 * time.Minute)
	for _, action := range []*payment.Action{
		nil, {Material: []byte(`{}`), ExpiresAt: ledger.MicrosOf(now.Add(time.Minute))}, {Page: "https://rail", PageUntil: ledger.MicrosOf(sc.context.Now)},
	} {
		if _, ok := sc.context.DecideProviderAnswer(sc.record, payment.ProviderAnswer{Verdict: payment.VerdictAction, Inquired: true, Reissued: true, Action: action}); ok {
			t.Errorf("%+v causes a decision", action)
		}
	}
}

// Once the payer's time is over, every submission is refused, both before and after the provider is asked to void the
// charge.
func TestSubmissionAfterThePayersTimeIsRefused(t *testing.T) {
	paymentScenario, payoutScenario := inState(t, payment.Payment, payment.ActionRequired), inState(t, payment.Payout, payment.Charging)
	payoutScenario.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: &payment.Action{Destinations: []payment.Destination{{ID: "b1"}}}})
	submit := func(sc *scenario) error {
		if sc == payoutScenario {
			_, err := sc.context.Choose(sc.record, "b1", sc.newRequestID())
			return err
		}
		_, err := sc.decideContinuation(true)
		return err
	}
	for _, sc := range []*scenario{paymentScenario, payoutScenario} {
		sc.context.Now = now.Add(30*time.Minute - time.Microsecond)
		if err := submit(sc); err != nil {
			t.Errorf("a microsecond before the deadline: %v", err)
		}
		sc.context.Now = now.Add(30 * time.Minute)
		wantRefused(t, submit(sc), ledger.Expired)
		sc.onDue(0) // the provider is asked to void the charge
		wantRefused(t, submit(sc), ledger.Expired)
		sc.onOpAnswer(answers["charged"])
		if sc.record.Status != payment.Rejected {
			t.Fatalf("%s", sc.record.Status)
		}
		wantRefused(t, submit(sc), ledger.Expired)
	}
}

// Nothing can be submitted for a charge that the provider refused. The error is a Conflict, not Expired, which is only for a
// payer who is too late.
func TestRefusedChargeAcceptsNoPayerAction(t *testing.T) {
	sc := inState(t, payment.Payment, payment.ActionRequired)
	sc.onAnswer(answers["refused"])
	_, err := sc.decideContinuation(true)
	wantRefused(t, err, ledger.Conflict)
	_, err = sc.context.Choose(sc.record, "b1", sc.newRequestID())
	wantRefused(t, err, ledger.Conflict)
}

func TestOnlyAnOfferedInstitutionIsAccepted(t *testing.T) {
	sc := inState(t, payment.Payout, payment.Charging)
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: &payment.Action{Destinations: []payment.Destination{{ID: "b1"}}}})
	_, err := sc.context.Choose(sc.record, "b2", sc.newRequestID())
	wantRefused(t, err, ledger.Invalid)
	d := sc.onRequest(sc.context.Choose(sc.record, "b1", sc.newRequestID()))
	sc.want(d, "submit charging", "due 10s, ask op")
	if sc.record.Op.Choice != "b1" {
		t.Errorf("%+v", sc.record.Op)
	}
	_, err = sc.context.Choose(sc.record, "b1", sc.newRequestID())
	wantRefused(t, err, ledger.Conflict)
}

// If the rail publishes a second action, the payer's first deadline stays.
func TestAnotherActionDoesNotProlongThePayersTime(t *testing.T) {
	sc := inState(t, payment.Payment, payment.ActionRequired)
	sc.context.Now = now.Add(10 * time.Minute)
	sc.want(sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: &payment.Action{Type: "redirect"}}), "act action_required", "due 20m0s")
	if sc.record.Action.Type != "redirect" || sc.record.Action.Material != nil {
		t.Errorf("%+v", sc.record.Action)
	}
}

func TestSealedCardIsKeptUntilTheChargeEnds(t *testing.T) {
	sc := inState(t, payment.Payment, payment.Charging)
	for _, keep := range []bool{true, false} {
		sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: otpAction, KeepCard: keep})
	}
	if !sc.record.KeepCard {
		t.Error("after a second action the card is no longer kept")
	}
	if sc.onAnswer(answers["charged"]); sc.record.KeepCard {
		t.Error("the card is kept after the charge")
	}
}

// The specification says: "A payer who does nothing for 30 minutes: rejected, `payer action expired`". After that time the
// service asks the provider to void the charge, and the provider's answer decides.
func TestAPayerWhoDoesNothingIsRejected(t *testing.T) {
	for kind, void := range map[payment.Type]string{payment.Payment: "", payment.Payout: ": void Dr L:partner:1:available 100, Cr A:provider 100"} {
		sc := inState(t, kind, payment.ActionRequired)
		if ask, _, decided := sc.onDue(30*time.Minute - time.Microsecond); ask != payment.InquireCharge || decided {
			t.Fatalf("before the payer's time is over, OnDue asks %v", ask)
		}
		_, d, decided := sc.onDue(time.Microsecond)
		if !decided || !d.MustRecord {
			t.Fatal("the charge did not lapse")
		}
		sc.want(d, "lapse action_required", "due 10s, ask op")
		_, err := sc.decideContinuation(true)
		wantRefused(t, err, ledger.Expired)
		sc.want(sc.onOpAnswer(answers["charged"]), "expire rejected"+void, "release 100, final")
		if r := sc.record; r.Failure.Describe("en") != "payer action expired" || r.Action != nil || r.Op != nil {
			t.Errorf("%+v", r)
		}
	}
}

// If the payer acts at the last moment, the provider charges the payer and refuses the void. The transaction is then charged.
func TestALapseIsRefusedBecauseItWasChargedMeanwhile(t *testing.T) {
	sc := inState(t, payment.Payment, payment.ActionRequired)
	sc.onDue(30 * time.Minute)
	sc.want(sc.onOpAnswer(answers["refused"]), "void_failed action_required", "due 10s, ask inquire")
	sc.want(sc.onAnswer(answers["charged"]),
		"submit charging",
		"settle charged: posted Dr A:provider 100, Cr L:partner:1:available 100*", "final")
	if sc.record.Failure.Describe("en") != "" {
		t.Errorf("%q", sc.record.Failure.Describe("en"))
	}
}

// A void that the provider refused is tried again, with growing gaps, until the charge is voided or charged.
func TestRefusedVoidOfALapsedActionIsRetried(t *testing.T) {
	sc := inState(t, payment.Payment, payment.ActionRequired)
	sc.onDue(30 * time.Minute)
	sc.want(sc.onOpAnswer(answers["failed"]), "void_failed action_required", "due 10s, ask inquire")
	sc.context.Now = sc.context.Now.Add(10 * time.Second)
	sc.want(sc.onAnswer(answers["still to act"]), "await action_required", "due 20s")
	_, d, decided := sc.onDue(20 * time.Second)
	if !decided {
		t.Fatal("nothing is decided at the due instant")
	}
	sc.want(d, "lapse action_required", "due 10s, ask op")
}

// The request choose_target_destination is refused unless the payout offers destinations and waits for a choice.
func TestOnlyAnOfferedDestinationCanBeChosen(t *testing.T) {
	sc := inState(t, payment.Payout, payment.Charging)
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: &payment.Action{Destinations: []payment.Destination{{ID: "b1", Name: "One"}, {ID: "b2", Name: "Two"}}}})
	for id, want := range map[string]bool{"b1": true, "b2": true, "b3": false, "": false, "One": false} {
		if waiting, offered := sc.record.Destination(id); !waiting || offered != want {
			t.Errorf("%q: waiting %v, offered %v", id, waiting, offered)
		}
	}
	sc.complete(false)
	for name, r := range map[string]*payment.Record{
		"has made its choice":      sc.record,
		"offers none":              inState(t, payment.Payment, payment.ActionRequired).record,
		"asks for nothing":         inState(t, payment.Payout, payment.Charging).record,
		"waits on the hosted page": newHosted(t).record,
	} {
		if waiting, _ := r.Destination("b1"); waiting {
			t.Errorf("a transaction that %s waits for a choice", name)
		}
	}
}

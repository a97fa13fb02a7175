package payment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting/store"
)

// Cards for which the simulator asks the payer to act: on a page, with a form, with a password.
const (
	redirect = "4000000000003220"
	formCard = "4000000000003063"
	password = "4000002500003155"
)

func materialCommand(id ledger.ID, object string) paymentactor.PayerSubmission {
	return paymentactor.PayerSubmission{Command: partnerCommand(id), Object: []byte(object)}
}

func choiceCommand(id ledger.ID, bank string) paymentactor.Choice {
	return paymentactor.Choice{Command: partnerCommand(id), Bank: bank}
}

// withMethod makes a create request use a method without a card.
func withMethod(name string) func(*paymentactor.Create) {
	return func(c *paymentactor.Create) { c.Request.Method, c.Card = name, nil }
}

func TestPaymentIsChargedAfterThePayerApproves(t *testing.T) {
	f := open(t)
	for card, kind := range map[string]string{redirect: "redirect get", formCard: "auth_3ds_form post"} {
		r := f.create(payment.Payment, card, 70, "").Record
		if r.Status != payment.ActionRequired || r.Action == nil || r.Action.Type+" "+r.Action.Method != kind || r.Action.URL == "" {
			t.Fatalf("%s %+v", r.Status, r.Action)
		}
		if got := r.Action.Until.Time().Sub(start); got != 30*time.Minute {
			t.Errorf("the payer has %v", got)
		}
		f.answerChallenge(r.ID, true)
		chargedRecord := f.mustRecord(f.OnReturn(org, r.ID))
		if chargedRecord.Status != payment.Charged || chargedRecord.Action != nil || len(chargedRecord.RRN) != 12 {
			t.Errorf("%+v", chargedRecord)
		}
		f.wantPath(r.ID, "created new authorizing charging action_required charging charged")
		f.wantSubmissions(r.ID, actors.Pay, 1)
		f.wantSubmissions(r.ID, actors.Complete, 1)
	}
	f.wantBalance("100140 / 0")
}

// A call to the rail contains the URL at which the payer comes back. The URL stays valid for longer than the
// payer may take to act.
func TestChargeCallHasTheReturnURL(t *testing.T) {
	f := openWith(t, func(f *fixture) {
		f.returnURL = func(org, id ledger.ID, until time.Time) string {
			return fmt.Sprint("https://mizan.example/", org, "/", id, "?until=", until.Unix())
		}
	})
	id := f.create(payment.Payment, redirect, 70, "").Record.ID
	pageURL, err := url.Parse(f.readRecord(id).Action.URL)
	if err != nil {
		t.Fatal(err)
	}
	challenge, err := f.simulator.Challenge(f.terminals[0].ID, id, pageURL.Query().Get(simulator.TokenParam))
	if want := fmt.Sprint("https://mizan.example/", org, "/", id, "?until=", start.Add(time.Hour).Unix()); err != nil || challenge.ReturnURL != want {
		t.Errorf("%s (%v), want %s", challenge.ReturnURL, err, want)
	}
}

func TestRefusedActionIsRejected(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, redirect, 70, "").Record.ID
	f.answerChallenge(id, false)
	if r := f.mustRecord(f.OnReturn(org, id)); r.Status != payment.Rejected || failureText(r.Failure) != "authentication_failed" {
		t.Errorf("%s %q", r.Status, failureText(r.Failure))
	}
	f.wantBalance("100000 / 0")
}

func TestReturningWithoutActingKeepsTheActionOpen(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, redirect, 70, "").Record.ID
	before := f.readRecord(id).Action
	f.advance(10 * time.Minute)
	for range 3 {
		if r := f.mustRecord(f.OnReturn(org, id)); r.Status != payment.ActionRequired || r.Action.URL != before.URL || r.Action.Until != before.Until {
			t.Errorf("%s %+v", r.Status, r.Action)
		}
	}
	f.answerChallenge(id, true)
	f.mustRecord(f.OnReturn(org, id))
	f.wantStatus(id, payment.Charged, "")
}

func TestPasswordIsSubmittedOnceAndDecidesTheCharge(t *testing.T) {
	for object, want := range map[string]struct {
		status payment.Status
		reason string
	}{
		`{"otp":"123456"}`: {payment.Charged, ""},
		`{"otp":"654321"}`: {payment.Rejected, "authentication_failed"},
	} {
		f := open(t)
		r := f.create(payment.Payment, password, 70, "").Record
		if r.Status != payment.ActionRequired || !bytes.Contains(r.Action.Material, []byte("otp")) {
			t.Fatalf("%s %+v", r.Status, r.Action)
		}
		material := materialCommand(r.ID, object)
		if got := f.mustRecord(f.Complete(material)); got.Status != want.status || failureText(got.Failure) != want.reason {
			t.Errorf("%s: %s %q", object, got.Status, failureText(got.Failure))
		}
		if !isWiped(material.Object) {
			t.Errorf("what was submitted is still there: %s", material.Object)
		}
		f.wantSubmissions(r.ID, actors.Complete, 1)
		_, err := f.Complete(materialCommand(r.ID, object))
		f.wantRefusal(err, ledger.Conflict)
	}
}

// If the payer submits no password, nothing is sent to the rail, and the payer can still act.
func TestMaterialWithoutRequiredMembersIsNotSent(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, password, 70, "").Record.ID
	before := f.mustResult(f.Find(org, id)).Header
	for _, object := range []string{
		``, `{}`, `{"status":"charged"}`, `{"otp":""}`, `{"otp":" \t"}`, `{"otp":123456}`, `{"otp":null}`, `{"otp":["123456"]}`, `{"OTP":"123456"}`, `{"a":{"otp":"123456"}}`,
	} {
		material := materialCommand(id, object)
		_, err := f.Complete(material)
		f.wantRefusal(err, ledger.Invalid)
		var refusal *ledger.Refusal
		if errors.As(err, &refusal); refusal.Field != "additional_params_for_auth.otp" {
			t.Errorf("%s: field %q", object, refusal.Field)
		}
		if !isWiped(material.Object) {
			t.Errorf("what was submitted is still there: %s", material.Object)
		}
	}
	if after := f.mustResult(f.Find(org, id)).Header; after != before {
		t.Errorf("version %d, before %d", after.Version, before.Version)
	}
	f.wantSubmissions(id, actors.Complete, 0)
	f.mustRecord(f.Complete(materialCommand(id, `{"otp":"123456"}`)))
	f.wantStatus(id, payment.Charged, "")
}

func TestMaterialAfterTheDeadlineIsRefusedAndNotSent(t *testing.T) {
	provider := scriptedProvider(actors.Pay, actors.Outcome{Verdict: payment.VerdictAction, Action: &payment.Action{
		Type: "none", Material: []byte(`{"nonce":7}`), ExpiresAt: ledger.MicrosOf(start.Add(time.Minute)),
	}}).answerInquiries(actors.Pay, actors.Outcome{Verdict: payment.VerdictAction})
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.advance(time.Minute + time.Microsecond)
	lateMaterial := materialCommand(id, `{"signature":"x"}`)
	_, err := f.Complete(lateMaterial)
	f.wantRefusal(err, ledger.Expired)
	if !isWiped(lateMaterial.Object) {
		t.Error("the material is still there")
	}
	f.wantStatus(id, payment.ActionRequired, "")
	f.wantSubmissions(id, actors.Complete, 0)
}

func TestMaterialIsRefusedUnlessTheTransactionWaitsForIt(t *testing.T) {
	f := open(t)
	for _, card := range []string{"4242424242424242", "4000000000000002", "4000000000000077"} {
		_, err := f.Complete(materialCommand(f.create(payment.Payment, card, 70, "").Record.ID, `{}`))
		f.wantRefusal(err, ledger.Conflict)
	}
}

func TestActionWithoutContentShowsOnlyTheRailsPage(t *testing.T) {
	f := open(t)
	for _, name := range []string{"sbp", "qr_code", "crypto"} {
		for _, kind := range []payment.Type{payment.Payment, payment.Payout} {
			r := f.mustRecord(f.createWith(kind, "", 70, withMethod(name)))
			if r.Status != payment.ActionRequired || r.Action.Type != "" || r.Action.Page == "" {
				t.Fatalf("%s: %s %+v", name, r.Status, r.Action)
			}
			if meta := string(r.RailMeta); (name == "crypto") != (meta == `{"status":"awaiting_deposit"}`) {
				t.Errorf("%s has meta %s", name, meta)
			}
			f.answerChallenge(r.ID, true)
			r = f.mustRecord(f.OnReturn(org, r.ID))
			if r.Status != payment.Charged {
				t.Errorf("%s: %s", name, r.Status)
			}
			if meta := string(r.RailMeta); (name == "crypto") != (meta == `{"status":"confirmed"}`) {
				t.Errorf("%s has meta %s", name, meta)
			}
		}
	}
	f.wantBalance("100000 / 0")
}

func TestPayoutWaitsUntilAnOfferedInstitutionIsChosen(t *testing.T) {
	f := open(t)
	for _, name := range []string{"open_banking", "sepa"} {
		r := f.mustRecord(f.createWith(payment.Payout, "", 70, withMethod(name)))
		if r.Status != payment.ActionRequired || len(r.Action.Destinations) == 0 || r.Action.Destinations[0].Name == "" {
			t.Fatalf("%s %+v", r.Status, r.Action)
		}
		bank := r.Action.Destinations[0].ID
		f.advance(time.Second)
		_, err := f.Choose(choiceCommand(r.ID, "another"))
		f.wantRefusal(err, ledger.Invalid)
		if got := f.mustRecord(f.OnReturn(org, r.ID)); got.Status != payment.ActionRequired {
			t.Errorf("%s after its payer came back", got.Status)
		}
		f.wantSubmissions(r.ID, actors.Complete, 0)
		if got := f.mustRecord(f.Choose(choiceCommand(r.ID, bank))); got.Status != payment.Charged {
			t.Errorf("%s %q", got.Status, failureText(got.Failure))
		}
		_, err = f.Choose(choiceCommand(r.ID, bank))
		f.wantRefusal(err, ledger.Conflict)
	}
	_, err := f.Choose(choiceCommand(f.create(payment.Payment, redirect, 70, "").Record.ID, "sim-bank-1"))
	f.wantRefusal(err, ledger.Conflict)
	f.wantBalance("99860 / 0")
}

func TestTransactionWithAnExpiredActionIsRejectedAfterItsVoid(t *testing.T) {
	f := open(t)
	payIn := f.create(payment.Payment, redirect, 70, "").Record.ID
	payOut := f.mustRecord(f.createWith(payment.Payout, "", 50, withMethod("sepa"))).ID
	f.wantBalance("100000 / 50")
	f.advance(30*time.Minute - time.Second)
	f.wantStatus(payIn, payment.ActionRequired, "")
	f.advance(time.Second)
	for _, id := range []ledger.ID{payIn, payOut} {
		f.wantStatus(id, payment.Rejected, "payer action expired")
		f.wantSubmissions(id, actors.Void, 1)
		_, err := f.Complete(materialCommand(id, `{"otp":"123456"}`))
		f.wantRefusal(err, ledger.Expired)
		_, err = f.Choose(choiceCommand(id, "sim-bank-1"))
		f.wantRefusal(err, ledger.Expired)
	}
	f.wantBalance("100000 / 0")
}

func TestChargeThatSettledBeforeTheActionExpiredIsCharged(t *testing.T) {
	provider := scriptedProvider(actors.Void, actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "already_charged"}}).answerInquiries(actors.Pay, done)
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, redirect, 70, "").Record.ID
	f.advance(30 * time.Minute)
	f.wantStatus(id, payment.Charged, "")
	f.wantBalance("100070 / 0")
	f.wantSubmissions(id, actors.Void, 1)
}

func TestUnknownVoidOfAnExpiredActionIsOnlyInquired(t *testing.T) {
	provider := scriptedProvider(actors.Void, lostAnswer).answerInquiries(actors.Void, actors.Outcome{Verdict: payment.VerdictPending, InquireAfter: time.Minute}, done)
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, password, 70, "").Record.ID
	f.advance(30 * time.Minute)
	f.wantStatus(id, payment.ActionRequired, "")
	_, err := f.Cancel(partnerCommand(id))
	f.wantRefusal(err, ledger.Conflict)
	_, err = f.Complete(materialCommand(id, `{"otp":"123456"}`))
	f.wantRefusal(err, ledger.Expired)
	f.advance(2 * time.Minute)
	f.wantStatus(id, payment.Rejected, "payer action expired")
	f.wantSubmissions(id, actors.Void, 1)
}

func TestRefusedVoidOfAnExpiredActionIsSentAgainUnderANewID(t *testing.T) {
	busyRefusal := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "busy"}}
	provider := scriptedProvider(actors.Void, busyRefusal, busyRefusal, done)
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, redirect, 70, "").Record.ID
	f.advance(2 * time.Hour)
	f.wantStatus(id, payment.Rejected, "payer action expired")
	f.wantSubmissions(id, actors.Void, 3)
}

func TestRailMayRequestSeveralActionsInTurn(t *testing.T) {
	secondAction := actors.Outcome{Verdict: payment.VerdictAction, Action: &payment.Action{Type: "redirect", Method: "get", URL: "https://rail.example/2"}}
	provider := scriptedProvider(actors.Complete, secondAction, done)
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, redirect, 70, "").Record.ID
	f.advance(time.Minute)
	if r := f.mustRecord(f.OnReturn(org, id)); r.Status != payment.ActionRequired || r.Action.URL != "https://rail.example/2" || !r.KeepCard {
		t.Errorf("%s %+v", r.Status, r.Action)
	}
	if got := f.readRecord(id).Action.Until.Time().Sub(start); got != 31*time.Minute {
		t.Errorf("the payer has %v in all, 30 minutes for each thing that is done", got)
	}
	f.mustRecord(f.OnReturn(org, id))
	f.wantStatus(id, payment.Charged, "")
}

// The card's number is stored only in the sealed (encrypted) row, which is removed when the payer has acted. The
// CVV is never stored (at the end of each test checkAtEnd looks for CVVs).
func TestCardIsSealedDuringThePayersActionAndRemovedAfterwards(t *testing.T) {
	var number string
	provider := new(fakeProvider)
	provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		if call.Operation == actors.Complete && call.Card != nil {
			number = string(call.Card.Number)
		}
		return provider.Provider.Submit(ctx, call)
	}
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	chargedID := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	approvedID := f.create(payment.Payment, redirect, 70, "").Record.ID
	cancelledID := f.create(payment.Payment, redirect, 70, "").Record.ID
	if f.hasSealedCard(chargedID) || !f.hasSealedCard(approvedID) || !f.readRecord(approvedID).KeepCard {
		t.Fatalf("sealed: %v of a card that is charged, %v of one whose payer acts", f.hasSealedCard(chargedID), f.hasSealedCard(approvedID))
	}
	f.restart()
	f.answerChallenge(approvedID, true)
	f.mustRecord(f.OnReturn(org, approvedID))
	f.wantStatus(approvedID, payment.Charged, "")
	if number != redirect {
		t.Errorf("the provider had card %q", number)
	}
	f.mustRecord(f.Cancel(partnerCommand(cancelledID)))
	if f.hasSealedCard(approvedID) || f.hasSealedCard(cancelledID) {
		t.Error("a card is kept after the end")
	}
	f.stop()
	err := filepath.WalkDir(f.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(redirect)) {
			t.Errorf("%s has the card's number", strings.TrimPrefix(path, f.Dir))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	f.start()
}

// keylessSealer is a keyring that has lost its keys.
type keylessSealer struct{ paymentactor.Sealer }

func (keylessSealer) OpenCard([]byte, []byte) (*secret.Card, error) {
	return nil, errors.New("the key is lost")
}

// If the encrypted card can no longer be decrypted, the charge fails instead of waiting for ever.
func TestActionFailsIfTheSealedCardCannotBeOpened(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, redirect, 70, "").Record.ID
	f.stop()
	f.sealer = keylessSealer{f.Keyring}
	f.start()
	f.answerChallenge(id, true)
	f.mustRecord(f.OnReturn(org, id))
	f.wantStatus(id, payment.Failed, "The card's data did not reach the provider.")
}

// A rail that answers "ready" waits for the call that completes the charge.
func TestAlwaysReadyRailIsAskedToCompleteOnlyAtDueInstants(t *testing.T) {
	readyOutcome := actors.Outcome{Verdict: payment.VerdictReady}
	provider := scriptedProvider(actors.Complete, readyOutcome, readyOutcome, readyOutcome, done).answerInquiries(actors.Pay, readyOutcome)
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, redirect, 70, "").Record.ID
	if got := f.mustRecord(f.OnReturn(org, id)).Status; got != payment.Charging {
		t.Errorf("%s", got)
	}
	f.wantSubmissions(id, actors.Complete, 1)
	f.advance(time.Hour)
	f.wantStatus(id, payment.Charged, "")
	f.wantSubmissions(id, actors.Complete, 4)
}

// The stored part of the longest answer of a rail fits into a record with the longest request.
func TestProviderAnswerIsBounded(t *testing.T) {
	long := strings.Repeat("€", 1<<20)
	object := []byte(`{"k":"` + long + `"}`)
	action := &payment.Action{
		Code: long, Deposit: long,
		Requires: []string{long, "", "1", "2", "3", "4", "5", "6", "7", "8"},
		Type:     long, Method: long, URL: "https://" + long, Page: "https://" + long, Material: object, Params: payment.ActionParams(map[string]string{"k": long}),
	}
	for i := range 1_000 {
		action.Destinations = append(action.Destinations, payment.Destination{ID: strings.Repeat("d", 1+i), Name: long})
	}
	provider := new(fakeProvider)
	provider.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
		if call.Operation == actors.Void {
			return done
		}
		return actors.Outcome{Verdict: payment.VerdictAction, Failure: payment.Failure{Detail: long}, RRN: long, Status: payment.Status(long), Meta: object, Action: action}
	}
	f := openWith(t, func(f *fixture) {
		f.useProvider(provider)
		f.JournalOptions.Store.MemTable = store.DefaultMemTable // with a small MemTable the bound on a group of Changes would be reached before the bound on a record
	})
	got := f.mustRecord(f.createWith(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) {
		c.Request.Customer = []byte(`"` + strings.Repeat("x", 1<<20-2) + `"`)
	}))
	if got.Status != payment.ActionRequired || got.Action.URL != "" || got.Action.Material != nil || got.Action.Params != nil || got.RailMeta != nil {
		t.Errorf("%s %.100q %.100q", got.Status, got.Action.URL, got.Action.Material)
	}
	if len(got.Action.Destinations) != 32 || len(got.Action.Destinations[0].Name) != 255 {
		t.Errorf("%d destinations", len(got.Action.Destinations))
	}
	if got.Action.Code != "" || len(got.Action.Deposit) != 255 {
		t.Errorf("a code of %d bytes, an address of %d", len(got.Action.Code), len(got.Action.Deposit))
	}
	if got := got.Action.Requires; len(got) != 7 || len(got[0]) != 255 || got[1] != "1" {
		t.Errorf("%d members are required: %.50q", len(got), got)
	}
	f.mustRecord(f.Cancel(partnerCommand(got.ID)))
	f.wantStatus(got.ID, payment.Failed, "cancelled")
	if a := money.FromUint64(70); f.readRecord(got.ID).Amount != a {
		t.Error("it has another amount")
	}
}

// If a rail quotes a card's number, the number is neither stored nor shown.
func TestCardNumberInAProviderAnswerIsNotStored(t *testing.T) {
	const number = "4242424242424242"
	metaWithNumber := `{"pan":"` + number + `"}`
	urlWithNumber := "https://rail.example/?pan=" + number
	for name, outcome := range map[string]actors.Outcome{
		"refused": {Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no such card: " + number}, Meta: []byte(metaWithNumber)},
		"charged": {Verdict: payment.VerdictCharged, RRN: number, Meta: []byte(metaWithNumber)},
		"action": {Verdict: payment.VerdictAction, KeepCard: true, Meta: []byte(metaWithNumber), Action: &payment.Action{
			Type: "redirect", URL: urlWithNumber, Page: urlWithNumber, Code: urlWithNumber, Deposit: number, Material: []byte(metaWithNumber), Params: payment.ActionParams(map[string]string{"pan": number})}},
	} {
		t.Run(name, func(t *testing.T) {
			f := openWith(t, func(f *fixture) {
				f.useProvider(scriptedProvider(actors.Pay, outcome).answerInquiries(actors.Pay, done))
			})
			r := f.create(payment.Payment, number, 70, "").Record
			if payload := paymentcodec.Encode(r); bytes.Contains(payload, []byte(number)) || r.RailMeta == nil {
				t.Errorf("%s", payload)
			}
			if name == "action" {
				if !strings.Contains(r.Action.URL, "[redacted]") || outcome.Action.URL != urlWithNumber {
					t.Errorf("%q; the rail's own: %q", r.Action.URL, outcome.Action.URL)
				}
				f.mustRecord(f.OnReturn(org, r.ID))
			}
		})
	}
}

func TestFrequentReturnsDoNotPostponeTheInquiry(t *testing.T) {
	pendingOutcome := actors.Outcome{Verdict: payment.VerdictPending, InquireAfter: time.Minute}
	inquiryAnswers := []actors.Outcome{pendingOutcome, lostAnswer, pendingOutcome, lostAnswer, pendingOutcome, done}
	f := openWith(t, func(f *fixture) {
		f.useProvider(scriptedProvider(actors.Pay, pendingOutcome).answerInquiries(actors.Pay, inquiryAnswers...))
	})
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	before := f.mustResult(f.Find(org, id)).Header
	for range 5 {
		f.advance(10 * time.Second)
		if got := f.mustRecord(f.OnReturn(org, id)).Status; got != payment.Charging {
			t.Errorf("%s", got)
		}
		if got := f.mustResult(f.Find(org, id)).Header; got != before {
			t.Errorf("version %d is due at %v, before: version %d, %v", got.Version, got.Due.Time(), before.Version, before.Due.Time())
		}
	}
	f.advance(10 * time.Second)
	f.wantStatus(id, payment.Charged, "")
}

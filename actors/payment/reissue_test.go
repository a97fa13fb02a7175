package payment_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// signedMaterial returns the command with which the payer submits the signature that the record's action
// requires.
func signedMaterial(t *testing.T, r *payment.Record) paymentactor.PayerSubmission {
	t.Helper()
	var published struct{ Payload string }
	if r.Action == nil || json.Unmarshal(r.Action.Material, &published) != nil || published.Payload == "" {
		t.Fatalf("%s publishes nothing to sign: %+v", r.Status, r.Action)
	}
	digest := sha256.Sum256([]byte(published.Payload))
	return materialCommand(r.ID, `{"signature":"`+hex.EncodeToString(digest[:])+`"}`)
}

// createForSigning creates a payment whose payer has to sign.
func (f *fixture) createForSigning() *payment.Record {
	f.t.Helper()
	r := f.mustRecord(f.createWith(payment.Payment, "", 70, withMethod("native_gas")))
	if r.Status != payment.ActionRequired || r.Action.ExpiresAt != ledger.MicrosOf(f.Clock.Now().Add(time.Minute)) {
		f.t.Fatalf("%s %+v", r.Status, r.Action)
	}
	return r
}

func TestSignatureOfThePublishedMaterialIsCharged(t *testing.T) {
	f := open(t)
	r := f.createForSigning()
	if got := f.mustRecord(f.Complete(signedMaterial(t, r))); got.Status != payment.Charged || got.Action != nil {
		t.Errorf("%s %q", got.Status, failureText(got.Failure))
	}
	r = f.createForSigning()
	wrong := signedMaterial(t, r)
	wrong.Object[len(wrong.Object)-3] ^= 1
	if got := f.mustRecord(f.Complete(wrong)); got.Status != payment.Rejected || got.Failure.Code != payment.AuthenticationFailed {
		t.Errorf("%s %q", got.Status, failureText(got.Failure))
	}
	f.wantBalance("100070 / 0")
}

// After the published material (what the payer has to sign) has expired, the next read of the transaction
// makes the rail publish new material. The new material is stored, and while it is valid the rail is not
// asked again.
func TestExpiredMaterialIsPublishedAgainForTheNextReader(t *testing.T) {
	f := open(t)
	r := f.createForSigning()
	lateMaterial := signedMaterial(t, r)
	f.advance(time.Minute)
	if again := f.mustRecord(f.Current(partnerCommand(r.ID), false)); string(again.Action.Material) != string(r.Action.Material) {
		t.Errorf("at its deadline it is %s", again.Action.Material)
	}
	f.advance(time.Microsecond)
	_, err := f.Complete(lateMaterial)
	f.wantRefusal(err, ledger.Expired)
	republished := f.mustRecord(f.Current(partnerCommand(r.ID), false))
	if string(republished.Action.Material) == string(r.Action.Material) || republished.Action.ExpiresAt != ledger.MicrosOf(f.Clock.Now().Add(time.Minute)) || republished.Action.Until != r.Action.Until {
		t.Errorf("%s until %v, the payer until %v", republished.Action.Material, republished.Action.ExpiresAt.Time(), republished.Action.Until.Time())
	}
	f.restart()
	for range 3 {
		if again := f.mustRecord(f.Current(partnerCommand(r.ID), true)); string(again.Action.Material) != string(republished.Action.Material) {
			t.Errorf("after a restart it is %s", again.Action.Material)
		}
	}
	f.wantPath(r.ID, "created new authorizing charging action_required action_required")
	if n := f.callCount(r.ID); n != 2 { // the payment's call, and one reissue
		t.Errorf("the rail's log names it %d times", n)
	}
	f.advance(5 * time.Minute)
	f.mustRecord(f.Complete(signedMaterial(t, f.mustRecord(f.Current(partnerCommand(r.ID), false)))))
	f.wantStatus(r.ID, payment.Charged, "")
	f.wantSubmissions(r.ID, actors.Complete, 1)
}

func TestConcurrentReadersTriggerOneReissue(t *testing.T) {
	f := open(t)
	r := f.createForSigning()
	f.advance(2 * time.Minute)
	results, errs := race(func(int) (paymentactor.Result, error) { return f.Current(partnerCommand(r.ID), false) })
	for i, got := range results {
		if errs[i] != nil || string(got.Record.Action.Material) != string(results[0].Record.Action.Material) || string(got.Record.Action.Material) == string(r.Action.Material) {
			t.Errorf("reader %d: %v, %s", i, errs[i], got.Record.Action.Material)
		}
	}
	f.wantPath(r.ID, "created new authorizing charging action_required action_required")
}

// Nothing is published again after the payer's time is over, or while the charge is being voided.
func TestNothingIsReissuedAfterThePayersTime(t *testing.T) {
	f := open(t)
	expired, cancelled := f.createForSigning().ID, f.createForSigning().ID
	f.mustRecord(f.Cancel(partnerCommand(cancelled)))
	f.advance(30 * time.Minute)
	for id, want := range map[ledger.ID]payment.Status{expired: payment.Rejected, cancelled: payment.Failed} {
		if got := f.mustRecord(f.Current(partnerCommand(id), true)); got.Status != want || got.Action != nil {
			t.Errorf("%s %+v", got.Status, got.Action)
		}
	}
}

func TestOnlyTheOwnPartnerReadsATransaction(t *testing.T) {
	f := open(t)
	r := f.createForSigning()
	f.advance(2 * time.Minute)
	_, err := f.Current(paymentactor.Command{Author: ledger.ByPayer.Author(), Org: org, Partner: 2, ID: r.ID}, false)
	f.wantRefusal(err, ledger.NotFound)
	f.wantPath(r.ID, "created new authorizing charging action_required")
	// The payment's own partner makes the rail publish again.
	if got := f.mustRecord(f.Current(partnerCommand(r.ID), true)); got.Action.ExpiresAt == r.Action.ExpiresAt {
		t.Errorf("%+v", got.Action)
	}
}

// publisher is a provider that implements payment.Reissuer with a function of the test.
type publisher struct {
	*fakeProvider
	reissue      func(q *actors.Inquiry) actors.Outcome
	reissueCount atomic.Int64
}

func (p *publisher) Reissue(_ context.Context, q *actors.Inquiry) actors.Outcome {
	p.reissueCount.Add(1)
	return p.reissue(q)
}

// openWithPublisher opens a fixture whose rail asks for the action; the function reissue publishes the
// action again. The returned id belongs to a payment that waits for the action.
func openWithPublisher(t *testing.T, action payment.Action, reissue func(f *fixture, q *actors.Inquiry) actors.Outcome) (*fixture, *publisher, ledger.ID) {
	t.Helper()
	rail := new(publisher)
	rail.fakeProvider = scriptedProvider(actors.Pay, actors.Outcome{Verdict: payment.VerdictAction, Action: &action}).answerInquiries(actors.Void, done)
	f := openWith(t, func(f *fixture) {
		f.skipRailComparison = true
		f.wrapProvider = func(inner actors.Provider) actors.Provider { rail.fakeProvider.Provider = inner; return rail }
		rail.reissue = func(q *actors.Inquiry) actors.Outcome { return reissue(f, q) }
	})
	return f, rail, f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
}

// The address of the rail's own page may expire before the payer's time is over.
func TestRailsPageIsReissuedOnlyForThePayer(t *testing.T) {
	publications := 1
	f, rail, id := openWithPublisher(t, payment.Action{Page: "https://rail.example/1", PageUntil: ledger.MicrosOf(start.Add(10 * time.Minute))}, func(f *fixture, q *actors.Inquiry) actors.Outcome {
		if q.ActionKnown {
			t.Error("the inquiry says that the action is known")
		}
		publications++
		return actors.Outcome{Verdict: payment.VerdictAction, Action: &payment.Action{Page: fmt.Sprint("https://rail.example/", publications), PageUntil: ledger.MicrosOf(f.Clock.Now().Add(10 * time.Minute))}}
	})
	f.advance(10*time.Minute - time.Microsecond)
	f.mustRecord(f.Current(partnerCommand(id), true))
	f.advance(time.Microsecond)
	f.mustRecord(f.Current(partnerCommand(id), false))
	if rail.reissueCount.Load() != 0 {
		t.Errorf("the rail was asked %d times", rail.reissueCount.Load())
	}
	if got := f.mustRecord(f.Current(partnerCommand(id), true)).Action; got.Page != "https://rail.example/2" || got.PageUntil != ledger.MicrosOf(f.Clock.Now().Add(10*time.Minute)) {
		t.Errorf("%+v", got)
	}
	f.mustRecord(f.Current(partnerCommand(id), true))
	f.advance(10 * time.Minute)
	f.mustRecord(f.Current(partnerCommand(id), true))
	if rail.reissueCount.Load() != 2 || f.readRecord(id).Action.Page != "https://rail.example/3" {
		t.Errorf("asked %d times, %+v", rail.reissueCount.Load(), f.readRecord(id).Action)
	}
}

// If the rail does not publish the action again, the transaction can still be read. If the rail answers
// with the charge's outcome instead, the outcome is stored.
func TestReissueRefusedByTheRailReportsTheChargesState(t *testing.T) {
	expiring := payment.Action{Type: "none", Material: []byte(`{"nonce":7}`), ExpiresAt: ledger.MicrosOf(start.Add(time.Minute))}
	for name, c := range map[string]struct {
		answer actors.Outcome
		status payment.Status
	}{
		"the answer is lost":             {lostAnswer, payment.ActionRequired},
		"the charge waits for its payer": {actors.Outcome{Verdict: payment.VerdictAction}, payment.ActionRequired},
		"the same action again":          {actors.Outcome{Verdict: payment.VerdictAction, Action: &expiring}, payment.ActionRequired},
		"the charge succeeded":           {done, payment.Charged},
		"the charge was refused":         {actors.Outcome{Verdict: payment.VerdictRefused}, payment.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			f, rail, id := openWithPublisher(t, expiring, func(*fixture, *actors.Inquiry) actors.Outcome { return c.answer })
			f.advance(2 * time.Minute)
			versionBefore := f.version(id)
			got := f.mustRecord(f.Current(partnerCommand(id), false))
			if got.Status != c.status || rail.reissueCount.Load() != 1 {
				t.Errorf("%s, asked %d times", got.Status, rail.reissueCount.Load())
			}
			if isWaiting := c.status == payment.ActionRequired; isWaiting && f.version(id) != versionBefore {
				t.Errorf("version %d, before %d", f.version(id), versionBefore)
			}
		})
	}
}

// A provider whose actions do not expire is never asked.
func TestProviderWithoutReissueIsNotAsked(t *testing.T) {
	rail := scriptedProvider(actors.Pay, actors.Outcome{Verdict: payment.VerdictAction, Action: &payment.Action{
		Type: "none", Material: []byte(`{"nonce":7}`), ExpiresAt: ledger.MicrosOf(start.Add(time.Minute)),
	}}).answerInquiries(actors.Void, done)
	f := openWith(t, func(f *fixture) { f.useProvider(rail) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.advance(2 * time.Minute)
	inquiries := rail.inquired.Load()
	if got := f.mustRecord(f.Current(partnerCommand(id), false)); got.Status != payment.ActionRequired || rail.inquired.Load() != inquiries {
		t.Errorf("%s, inquired %d times", got.Status, rail.inquired.Load()-inquiries)
	}
}

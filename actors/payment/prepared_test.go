package payment_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// preparedOutcome says that the provider knows a charge by this id.
func preparedOutcome(id string) actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictPrepared, Meta: []byte(`{"id":"` + id + `"}`)}
}

// preparingProvider prepares a charge when it is submitted first, and passes later submissions to the simulator.
type preparingProvider struct {
	fakeProvider
	submissions []string // for each submission of a charge, its Meta and the card's number
}

func newPreparingProvider() *preparingProvider {
	p := new(preparingProvider)
	p.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		if call.Operation != actors.Pay {
			return p.Provider.Submit(ctx, call)
		}
		p.submissions = append(p.submissions, string(call.Meta)+" "+string(call.Card.Number))
		if call.Meta == nil {
			return preparedOutcome(call.Terminal.ID.String())
		}
		return p.Provider.Submit(ctx, call)
	}
	return p
}

const card = "4242424242424242"

func TestPreparedChargeIsSubmittedUnderItsStoredID(t *testing.T) {
	provider := newPreparingProvider()
	f := openWith(t, func(f *fixture) { f.useProvider(&provider.fakeProvider) })
	r := f.create(payment.Payment, card, 70, "").Record
	meta := string(preparedOutcome(r.Terminal.String()).Meta)
	if r.Status != payment.Charged || string(r.RailMeta) != meta {
		t.Errorf("%s with %s", r.Status, r.RailMeta)
	}
	if want := []string{" " + card, meta + " " + card}; !slices.Equal(provider.submissions, want) {
		t.Errorf("submissions %q, want %q", provider.submissions, want)
	}
	f.wantPath(r.ID, "created new authorizing authorizing charging charged")
}

// What a terminal has prepared is of no use at the next one.
func TestFailoverAfterPreparationBeginsAnew(t *testing.T) {
	provider := newPreparingProvider()
	f, ids := openThreeTerminals(t, 0, func(f *fixture) { f.useProvider(&provider.fakeProvider) })
	r := f.create(payment.Payment, card, 70, "").Record
	if r.Status != payment.Charged || r.Terminal != ids[2] {
		t.Errorf("%s at %v", r.Status, r.Terminal)
	}
	var want []string
	for _, id := range ids {
		want = append(want, " "+card, string(preparedOutcome(id.String()).Meta)+" "+card)
	}
	if !slices.Equal(provider.submissions, want) {
		t.Errorf("submissions %q, want %q", provider.submissions, want)
	}
}

// An adapter that always prepares does not get the charge again and again.
func TestChargeIsPreparedOncePerID(t *testing.T) {
	provider := scriptedProvider(actors.Pay, preparedOutcome("1"), preparedOutcome("1")).answerInquiries(actors.Pay, preparedOutcome("2"), done)
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, card, 70, "").Record.ID
	f.wantStatus(id, payment.Charging, "")
	f.wantSubmissions(id, actors.Pay, 2)
	f.advance(time.Hour)
	f.wantStatus(id, payment.Charged, "")
	f.wantSubmissions(id, actors.Pay, 2)
}

// If the process ends between the preparation and the second submission, only the provider knows what has happened. The stored id
// is in the inquiry.
func TestKillAfterPreparation(t *testing.T) {
	provider := new(fakeProvider)
	killed, asked := make(chan ledger.ID, 1), ""
	provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		if call.Meta == nil {
			return preparedOutcome("1")
		}
		killed <- call.Reference
		<-ctx.Done()
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}
	provider.inquire = func(_ context.Context, q *actors.Inquiry) actors.Outcome {
		asked = string(q.Meta)
		return actors.Outcome{Verdict: payment.VerdictNotFound}
	}
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	go func() { _, _ = f.tryCreate(payment.Payment, "order 1") }()
	id := <-killed
	f.killAndReopen(func(*fixture) {})
	f.advance(time.Hour)
	r := f.readRecord(id)
	if r.Status != payment.Failed || r.Failure.Code != payment.Interrupted || asked != `{"id":"1"}` {
		t.Errorf("%s %s, asked about %s", r.Status, r.Failure.Code, asked)
	}
	f.wantSubmissions(r.ID, actors.Pay, 2)
}

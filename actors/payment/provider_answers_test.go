package payment_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
)

// If a rail quotes the card in its answer, the number is not stored.
func TestCardNumberQuotedByARailIsRedacted(t *testing.T) {
	const number = "4242424242424242"
	rail := new(fakeProvider)
	rail.submit = func(context.Context, *actors.Call) actors.Outcome {
		return actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "declined: " + number}, Meta: []byte(`{"pan":"` + number + `"}`)}
	}
	f := openWith(t, func(f *fixture) { f.useProvider(rail) })
	got := f.create(payment.Payment, number, 70, "").Record
	if failureText(got.Failure) != "declined: [redacted]" || string(got.RailMeta) != `{"pan":"[redacted]"}` {
		t.Errorf("%q %s", failureText(got.Failure), got.RailMeta)
	}
	if strings.Contains(string(paymentcodec.Encode(got)), number) {
		t.Error("the record has the number")
	}
}

// A payer who reloads the return page does not postpone the due inquiry.
func TestReloadingTheReturnPageDoesNotPostponeTheInquiry(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4000000000000077", 70, "").Record.ID
	dueBefore, versionBefore := f.dueAt(id), f.version(id)
	for range 5 {
		if r := f.mustRecord(f.OnReturn(org, id)); r.Status != payment.Charging {
			t.Errorf("%s", r.Status)
		}
	}
	if f.dueAt(id) != dueBefore || f.version(id) != versionBefore {
		t.Errorf("due %v and version %d became %v and %d", dueBefore, versionBefore, f.dueAt(id), f.version(id))
	}
	f.advance(10 * time.Second)
	f.wantStatus(id, payment.Charged, "")
}

func (f *fixture) dueAt(id ledger.ID) ledger.Micros { return f.mustFind(id).Header.Due }

func (f *fixture) version(id ledger.ID) uint64 { return f.mustFind(id).Header.Version }

func (f *fixture) mustFind(id ledger.ID) paymentactor.Result {
	f.t.Helper()
	r, err := f.Find(org, id)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// An operation that was requested during a slow call is not carried out later if its caller has stopped
// waiting.
func TestAbandonedOperationIsNotBegun(t *testing.T) {
	release, refundCalls := make(chan struct{}), make(chan struct{}, 8)
	rail := new(fakeProvider)
	rail.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		if call.Operation == actors.Refund {
			refundCalls <- struct{}{}
			<-release
		}
		return rail.Provider.Submit(ctx, call)
	}
	f := openWith(t, func(f *fixture) { f.providerTimeout = time.Minute; f.useProvider(rail) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	stopWaiting := f.BeginRefund(amountCommand(id, 10))
	<-refundCalls
	if record := f.mustRecord(stopWaiting()); record.Status != payment.Charged {
		t.Errorf("%s", record.Status)
	}
	abandoned := amountCommand(id, 20)
	abandoned.Key = actors.Key{Scope: actors.PartnerKeyScope(1), Text: "k"}
	_, err := f.BeginRefund(abandoned)()
	f.wantRefusal(err, ledger.Unavailable)
	close(release)
	f.Runtime.Quiesce()
	f.wantStatus(id, payment.Refunded, "")
	if got := f.readRecord(id).RefundedAmount.String(); got != "10" {
		t.Errorf("refunded %s", got)
	}
	if r := f.mustRecord(f.Refund(abandoned)); r.RefundedAmount.String() != "30" {
		t.Errorf("with the key as good as new: %s", r.RefundedAmount)
	}
}

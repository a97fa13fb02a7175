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
func TestACardThatARailQuotesIsConcealed(t *testing.T) {
	const number = "4242424242424242"
	r := new(rail)
	r.submit = func(context.Context, *actors.Call) actors.Outcome {
		return actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "declined: " + number}, Meta: []byte(`{"pan":"` + number + `"}`)}
	}
	h := openAs(t, func(h *fixture) { h.on(r) })
	got := h.create(payment.Payment, number, 70, "").Record
	if why(got.Failure) != "declined: [redacted]" || string(got.RailMeta) != `{"pan":"[redacted]"}` {
		t.Errorf("%q %s", why(got.Failure), got.RailMeta)
	}
	if strings.Contains(string(paymentcodec.Encode(got)), number) {
		t.Error("the record has the number")
	}
}

// A payer who reloads the return page does not postpone the due inquiry.
func TestWhoComesBackOftenDoesNotPutTheInquiryOff(t *testing.T) {
	h := open(t)
	id := h.create(payment.Payment, "4000000000000077", 70, "").Record.ID
	before, version := h.dueAt(id), h.version(id)
	for range 5 {
		if r := h.must(h.Returned(org, id)); r.Status != payment.Charging {
			t.Errorf("%s", r.Status)
		}
	}
	if h.dueAt(id) != before || h.version(id) != version {
		t.Errorf("due %v and version %d became %v and %d", before, version, h.dueAt(id), h.version(id))
	}
	h.advance(10 * time.Second)
	h.is(id, payment.Charged, "")
}

func (h *fixture) dueAt(id ledger.ID) ledger.Micros { return h.found(id).Stamp.Due }

func (h *fixture) version(id ledger.ID) uint64 { return h.found(id).Stamp.Version }

func (h *fixture) found(id ledger.ID) paymentactor.Result {
	h.t.Helper()
	r, err := h.Find(org, id)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// An operation that was requested during a slow call and given up by its caller is not carried out
// later.
func TestAnOperationThatNobodyWaitsForAnyMoreIsNotBegun(t *testing.T) {
	release, calls := make(chan struct{}), make(chan struct{}, 8)
	r := new(rail)
	r.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		if call.Operation == actors.Refund {
			calls <- struct{}{}
			<-release
		}
		return r.Provider.Submit(ctx, call)
	}
	h := openAs(t, func(h *fixture) { h.inquire = time.Minute; h.on(r) })
	id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	overdue := h.BeginRefund(part(id, 10))
	<-calls
	if first := h.must(overdue()); first.Status != payment.Charged {
		t.Errorf("%s", first.Status)
	}
	again := part(id, 20)
	again.Key = actors.Key{Scope: actors.KeyOfPartner(1), Text: "k"}
	_, err := h.BeginRefund(again)()
	h.refused(err, ledger.Unavailable)
	close(release)
	h.Runtime.Quiesce()
	h.is(id, payment.Refunded, "")
	if got := h.read(id).Refunded.String(); got != "10" {
		t.Errorf("refunded %s", got)
	}
	if r := h.must(h.Refund(again)); r.Refunded.String() != "30" {
		t.Errorf("with the key as good as new: %s", r.Refunded)
	}
}

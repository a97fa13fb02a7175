package payment_test

import (
	"sync"
	"testing"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/payment"
)

const racers = 64

// race makes all calls concurrently and returns the answers.
func race(run func(i int) (paymentactor.Result, error)) (results []paymentactor.Result, errs []error) {
	results, errs = make([]paymentactor.Result, racers), make([]error, racers)
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range racers {
		all.Add(1)
		go func() {
			defer all.Done()
			<-begin
			results[i], errs[i] = run(i)
		}()
	}
	close(begin)
	all.Wait()
	return results, errs
}

// wins counts the calls that were not refused; the others must be refused with one of the codes.
func (h *fixture) wins(errs []error, codes ...ledger.Code) (won int) {
	h.t.Helper()
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		known := false
		for _, code := range codes {
			known = known || isRefusal(err, code)
		}
		if !known {
			h.t.Errorf("refused with %v, want one of %v", err, codes)
		}
	}
	return won
}

func TestOfManyFullRefundsOneIsMade(t *testing.T) {
	for _, card := range []string{"4242424242424242", delaysRefunds} {
		h := open(t)
		id := h.create(payment.Payment, card, 70, "").Record.ID
		_, errs := race(func(int) (paymentactor.Result, error) { return h.Refund(part(id, 0)) })
		if won := h.wins(errs, ledger.Conflict, ledger.InvalidRefundAmount); won != 1 {
			t.Errorf("%d won", won)
		}
		h.submitted(id, actors.Refund, 1)
		h.advance(delayed)
		h.is(id, payment.Refunded, "")
		h.has("100000 / 0")
	}
}

// Concurrent refunds of 3 of 70: 23 of them succeed, and no more is returned.
func TestOfManyPartialRefundsNoMoreAreMadeThanThereIs(t *testing.T) {
	h := open(t)
	id := h.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	_, errs := race(func(int) (paymentactor.Result, error) { return h.Refund(part(id, 3)) })
	if won := h.wins(errs, ledger.Conflict, ledger.InvalidRefundAmount); won != 23 {
		t.Errorf("%d won", won)
	}
	h.submitted(id, actors.Refund, 23)
	h.has("100001 / 0")
}

func TestOfManyRefundsThatTheRailRefusesEachHearsOfIt(t *testing.T) {
	h := open(t)
	id := h.create(payment.Payment, refusesRefunds, 70, "").Record.ID
	results, errs := race(func(int) (paymentactor.Result, error) { return h.Refund(part(id, 0)) })
	won := h.wins(errs, ledger.Conflict)
	for i, r := range results {
		if errs[i] == nil && (r.Record.Status != payment.Charged || refundMsg(r.Record) != "refund_refused") {
			t.Errorf("%s %q", r.Record.Status, refundMsg(r.Record))
		}
	}
	h.submitted(id, actors.Refund, won)
	h.has("100070 / 0")
}

func TestOfManyCommitsAndCancelsOneWins(t *testing.T) {
	for _, kind := range []payment.Type{payment.Payment, payment.Payout} {
		h := twoPhased(t, plain)
		id := h.create(kind, "4242424242424242", 70, "").Record.ID
		_, errs := race(func(i int) (paymentactor.Result, error) {
			if i%2 == 0 {
				return h.Commit(part(id, 0))
			}
			return h.Cancel(of(id))
		})
		if won := h.wins(errs, ledger.Conflict, ledger.NotReversible); won != 1 {
			t.Errorf("%v: %d won", kind, won)
		}
		if n := h.submissions(id, actors.Capture) + h.submissions(id, actors.Void); n != 1 {
			t.Errorf("%v: %d calls", kind, n)
		}
		r := h.read(id)
		want := map[payment.Status]map[payment.Type]string{
			payment.Charged: {payment.Payment: "100070 / 0", payment.Payout: "99930 / 0"},
			payment.Failed:  {payment.Payment: "100000 / 0", payment.Payout: "100000 / 0"},
		}
		h.has(want[r.Status][kind])
	}
}

func TestOfManyPasswordsOneIsSubmitted(t *testing.T) {
	h := open(t)
	id := h.create(payment.Payment, password, 70, "").Record.ID
	_, errs := race(func(int) (paymentactor.Result, error) { return h.Complete(material(id, `{"otp":"123456"}`)) })
	if won := h.wins(errs, ledger.Conflict); won != 1 {
		t.Errorf("%d won", won)
	}
	h.submitted(id, actors.Complete, 1)
	h.is(id, payment.Charged, "")
}

// The payer's browser returns many times while the merchant cancels.
func TestAPayerWhoComesBackManyTimesIsChargedOnceOrNotAtAll(t *testing.T) {
	h := open(t)
	id := h.create(payment.Payment, redirect, 70, "").Record.ID
	h.decides(id, true)
	_, errs := race(func(i int) (paymentactor.Result, error) {
		if i%8 == 0 {
			return h.Cancel(of(id))
		}
		return h.Returned(org, id)
	})
	h.wins(errs, ledger.NotReversible, ledger.Conflict)
	switch r := h.read(id); r.Status {
	case payment.Charged:
		h.has("100070 / 0")
		h.submitted(id, actors.Complete, 1)
		h.submitted(id, actors.Void, 0)
	case payment.Failed:
		h.has("100000 / 0")
		h.submitted(id, actors.Complete, 0)
		h.submitted(id, actors.Void, 1)
	default:
		t.Errorf("%s", r.Status)
	}
}

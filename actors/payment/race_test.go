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

// race makes 64 calls of run concurrently and returns their results.
func race(run func(i int) (paymentactor.Result, error)) (results []paymentactor.Result, errs []error) {
	results, errs = make([]paymentactor.Result, racers), make([]error, racers)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range racers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			<-begin
			results[i], errs[i] = run(i)
		}()
	}
	close(begin)
	wg.Wait()
	return results, errs
}

// countSuccesses counts the calls that succeeded, and checks that each other call was refused with one
// of the codes.
func (f *fixture) countSuccesses(errs []error, codes ...ledger.Code) (successes int) {
	f.t.Helper()
	for _, err := range errs {
		if err == nil {
			successes++
			continue
		}
		isExpected := false
		for _, code := range codes {
			isExpected = isExpected || isRefusal(err, code)
		}
		if !isExpected {
			f.t.Errorf("refused with %v, want one of %v", err, codes)
		}
	}
	return successes
}

func TestOneOfManyConcurrentFullRefundsSucceeds(t *testing.T) {
	for _, card := range []string{"4242424242424242", delaysRefunds} {
		f := open(t)
		id := f.create(payment.Payment, card, 70, "").Record.ID
		_, errs := race(func(int) (paymentactor.Result, error) { return f.Refund(amountCommand(id, 0)) })
		if successes := f.countSuccesses(errs, ledger.Conflict, ledger.InvalidRefundAmount); successes != 1 {
			t.Errorf("%d won", successes)
		}
		f.wantSubmissions(id, actors.Refund, 1)
		f.advance(delayed)
		f.wantStatus(id, payment.Refunded, "")
		f.wantBalance("100000 / 0")
	}
}

// Of many concurrent refunds of 3 each, only 23 can succeed, because the payment's amount is 70.
func TestConcurrentPartialRefundsNeverExceedTheAmount(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	_, errs := race(func(int) (paymentactor.Result, error) { return f.Refund(amountCommand(id, 3)) })
	if successes := f.countSuccesses(errs, ledger.Conflict, ledger.InvalidRefundAmount); successes != 23 {
		t.Errorf("%d won", successes)
	}
	f.wantSubmissions(id, actors.Refund, 23)
	f.wantBalance("100001 / 0")
}

func TestEachOfManyRefundsGetsTheRailsRefusal(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, refusesRefunds, 70, "").Record.ID
	results, errs := race(func(int) (paymentactor.Result, error) { return f.Refund(amountCommand(id, 0)) })
	successes := f.countSuccesses(errs, ledger.Conflict)
	for i, r := range results {
		if errs[i] == nil && (r.Record.Status != payment.Charged || refundMsg(r.Record) != "refund_refused") {
			t.Errorf("%s %q", r.Record.Status, refundMsg(r.Record))
		}
	}
	f.wantSubmissions(id, actors.Refund, successes)
	f.wantBalance("100070 / 0")
}

func TestOneOfManyConcurrentCommitsAndCancelsSucceeds(t *testing.T) {
	for _, kind := range []payment.Type{payment.Payment, payment.Payout} {
		f := openTwoPhase(t, unchanged)
		id := f.create(kind, "4242424242424242", 70, "").Record.ID
		_, errs := race(func(i int) (paymentactor.Result, error) {
			if i%2 == 0 {
				return f.Commit(amountCommand(id, 0))
			}
			return f.Cancel(partnerCommand(id))
		})
		if successes := f.countSuccesses(errs, ledger.Conflict, ledger.NotReversible); successes != 1 {
			t.Errorf("%v: %d won", kind, successes)
		}
		if n := f.submissions(id, actors.Capture) + f.submissions(id, actors.Void); n != 1 {
			t.Errorf("%v: %d calls", kind, n)
		}
		r := f.readRecord(id)
		wantBalances := map[payment.Status]map[payment.Type]string{
			payment.Charged: {payment.Payment: "100070 / 0", payment.Payout: "99930 / 0"},
			payment.Failed:  {payment.Payment: "100000 / 0", payment.Payout: "100000 / 0"},
		}
		f.wantBalance(wantBalances[r.Status][kind])
	}
}

func TestOneOfManyConcurrentPasswordsIsSubmitted(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, password, 70, "").Record.ID
	_, errs := race(func(int) (paymentactor.Result, error) { return f.Complete(materialCommand(id, `{"otp":"123456"}`)) })
	if successes := f.countSuccesses(errs, ledger.Conflict); successes != 1 {
		t.Errorf("%d won", successes)
	}
	f.wantSubmissions(id, actors.Complete, 1)
	f.wantStatus(id, payment.Charged, "")
}

// The payer's browser returns many times while the merchant cancels.
func TestRepeatedReturnsDuringACancelChargeAtMostOnce(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, redirect, 70, "").Record.ID
	f.answerChallenge(id, true)
	_, errs := race(func(i int) (paymentactor.Result, error) {
		if i%8 == 0 {
			return f.Cancel(partnerCommand(id))
		}
		return f.OnReturn(org, id)
	})
	f.countSuccesses(errs, ledger.NotReversible, ledger.Conflict)
	switch r := f.readRecord(id); r.Status {
	case payment.Charged:
		f.wantBalance("100070 / 0")
		f.wantSubmissions(id, actors.Complete, 1)
		f.wantSubmissions(id, actors.Void, 0)
	case payment.Failed:
		f.wantBalance("100000 / 0")
		f.wantSubmissions(id, actors.Complete, 0)
		f.wantSubmissions(id, actors.Void, 1)
	default:
		t.Errorf("%s", r.Status)
	}
}

package payment_test

import (
	"slices"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
)

// openWithReceipts returns a fixture in which payers get receipts.
func openWithReceipts(t *testing.T, configure func(*fixture)) *fixture {
	return openWith(t, func(f *fixture) {
		f.sendsReceipts = true
		configure(f)
	})
}

// createFor creates a transaction with the customer's data.
func (f *fixture) createFor(kind payment.Type, card string, amount uint64, customer string) ledger.ID {
	f.t.Helper()
	c := request(kind, card, amount, "")
	c.Partner = f.partner
	if customer != "" {
		c.Request.Customer = []byte(customer)
	}
	result, err := f.Create(c)
	if err != nil {
		f.t.Fatal(err)
	}
	return result.Record.ID
}

// wantReceipts checks for which transactions a receipt is to be sent to the payer, in the order of booking.
func (f *fixture) wantReceipts(want ...ledger.ID) {
	f.t.Helper()
	f.Runtime.Quiesce()
	view := f.Journal.View()
	defer view.Close()
	var got []ledger.ID
	err := view.NoticesAscending(org, 0, func(n *posting.Notice) (bool, error) {
		if n.Channel != posting.PayerReceipt {
			return true, nil
		}
		if r := f.readRecord(n.Source.ID); n.To != r.Terminal || len(n.Body) != 0 {
			f.t.Errorf("the notice of %v goes to %v with %q", r.ID, n.To, n.Body)
		}
		got = append(got, n.Source.ID)
		return true, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		f.t.Errorf("receipts for %v, want %v", got, want)
	}
}

const payer = `{"email":"ann@customer.example"}`

// The notice that makes the notifier send a receipt is stored together with the charge; without a charge there is no such
// notice.
func TestChargedPaymentHasAReceipt(t *testing.T) {
	f := openWithReceipts(t, unchanged)
	f.createFor(payment.Payment, "4000000000000002", 100, payer) // rejected
	f.createFor(payment.Payment, "4000000000000119", 100, payer) // failed
	f.wantReceipts()
	charged := f.createFor(payment.Payment, "4242424242424242", 100, payer)
	f.wantReceipts(charged)
	late := f.createFor(payment.Payment, "4000000000000077", 100, payer)
	f.wantReceipts(charged)
	f.advance(5 * time.Second)
	f.wantReceipts(charged, late)
	f.restart()
	f.wantReceipts(charged, late)
}

func TestCaptureOfAHoldHasAReceipt(t *testing.T) {
	f := openWithReceipts(t, func(f *fixture) { f.changeTerminal(0, twoPhase) })
	captured := f.createFor(payment.Payment, "4242424242424242", 100, payer)
	cancelled := f.createFor(payment.Payment, "4242424242424242", 100, payer)
	f.wantReceipts()
	f.mustRecord(f.Commit(amountCommand(captured, 0)))
	f.mustRecord(f.Cancel(partnerCommand(cancelled)))
	f.wantReceipts(captured)
}

func TestRefundsAndPayoutsHaveNoReceipt(t *testing.T) {
	f := openWithReceipts(t, unchanged)
	f.createFor(payment.Payout, "4242424242424242", 100, payer)
	f.wantReceipts()
	refused := f.createFor(payment.Payment, refusesRefunds, 100, payer)
	delayed := f.createFor(payment.Payment, delaysRefunds, 100, payer)
	f.mustRecord(f.Refund(amountCommand(refused, 0)))
	f.mustRecord(f.Refund(amountCommand(delayed, 0)))
	f.advance(time.Minute)
	f.wantStatus(delayed, payment.Refunded, "")
	f.wantReceipts(refused, delayed)
	returned := f.createFor(payment.Payment, "4000000000000259", 100, payer) // the rail returns the money later
	f.advance(2 * time.Minute)
	f.wantStatus(returned, payment.Reversed, "taken_back")
	f.wantReceipts(refused, delayed, returned)
}

func TestNoReceiptWithoutAnAddressOrAServer(t *testing.T) {
	f := openWithReceipts(t, unchanged)
	for _, customer := range []string{"", `{}`, `{"email":""}`, `{"email":"ann"}`, `{"email":"ann@customer.example\r\nBcc: b@other.example"}`} {
		f.createFor(payment.Payment, "4242424242424242", 100, customer)
	}
	f.wantReceipts()
	f.restartAs(func(f *fixture) { f.sendsReceipts = false })
	f.createFor(payment.Payment, "4242424242424242", 100, payer)
	f.wantReceipts()
}

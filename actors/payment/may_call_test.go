package payment_test

import (
	"errors"
	"testing"

	"mizan/ledger/payment"
)

// A node that may have lost the lead sends nothing to a provider. The outcome counts as unknown, so the provider is asked later.
func TestNothingIsSentWithoutTheLead(t *testing.T) {
	t.Parallel()
	f := openWith(t, func(f *fixture) { f.mayCall = func() error { return errors.New("another node leads") } })
	tx := f.create(payment.Payment, "4242424242424242", 100, "t-1")
	f.Runtime.Quiesce()
	if n := f.callCount(tx.Record.ID); n != 0 {
		t.Errorf("%d operations were sent", n)
	}
	if status := f.readRecord(tx.Record.ID).Status; status != payment.Charging {
		t.Errorf("the transaction is %s", status)
	}
}

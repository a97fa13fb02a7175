package jsonform_test

import (
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/jsonform"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

func TestATransactionIsEncodedWithoutAllocating(t *testing.T) {
	r := &payment.Record{
		ID: uuid.MustParse("0f8fad5b-d9cb-469f-a165-70867728950e"), Status: payment.Charged, Terminal: ledger.ID{1}, Route: "simulator", RRN: "1",
		Request: payment.Request{
			Type: payment.Payment, TxID: "order", Amount: money.FromUint64(10_000), Asset: money.Asset{Currency: "USD", Env: money.Test},
			Description: "Two apples", HasDescription: true, MerchantMeta: []byte(`{"k":"v"}`), Method: payment.BankCard, CardBIN: "424242", CardLast4: "4242",
		},
		Refunds: []payment.RefundRecord{{Amount: money.FromUint64(1), Status: payment.RefundIsPending}},
	}
	view := &jsonform.TransactionView{StartedAt: 1}
	buf := make([]byte, 0, 4<<10)
	if n := testing.AllocsPerRun(100, func() { buf = jsonform.AppendTransaction(buf[:0], r, view) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

package payment_test

import (
	"reflect"
	"testing"

	"github.com/google/uuid"

	live "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

func full() *payment.Record {
	r := &payment.Record{
		ID: uuid.New(), Partner: 7, Status: payment.Charged, Error: "why", Fee: money.FromUint64(3), WithFee: money.MustParse("1" + zeros(70)),
		Dest: money.FromUint64(9), Merchant: money.Signed{Negative: true, Abs: money.FromUint64(4)}, Terminal: uuid.New(), Route: "simulator",
		ShownText: "shown", RRN: "123456789012", Finished: 1, Unheard: 1, Inquiries: 2, ReturnID: uuid.New(), ReversalOf: uuid.New(),
	}
	r.Request = payment.Request{
		Type: payment.Payout, TxID: "tx \x00é", Amount: money.FromUint64(1), Asset: money.Asset{Currency: "USDT", Network: "tron", Env: money.Test},
		Description: "", Described: true, Customer: []byte(`{"email":"a@b.c"}`), MerchantMeta: []byte(`{}`), Lang: "ru",
		ReturnURL: "https://a", FailURL: "https://b", Method: "bank_card", CardBIN: "424242", CardLast4: "4242", CardPrint: "f00d",
	}
	return r
}

func zeros(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0'
	}
	return string(b)
}

// A field that is added to the record and forgotten in the codec fails here:
// every field of full() is set.
func TestEveryFieldOfATransactionIsStored(t *testing.T) {
	want := full()
	want.Finished = 0 // in the envelope
	v := reflect.ValueOf(*want)
	for i := range v.NumField() {
		if v.Field(i).IsZero() && v.Type().Field(i).Name != "Finished" {
			t.Errorf("full() leaves %s empty", v.Type().Field(i).Name)
		}
	}
	got, err := live.Decode(live.Encode(want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("stored %+v (%v), want %+v", got, err, want)
	}
	empty := &payment.Record{}
	if got, err := live.Decode(live.Encode(empty)); err != nil || !reflect.DeepEqual(got, empty) {
		t.Errorf("an empty record: %+v (%v)", got, err)
	}
}

func TestADamagedTransactionIsAnErrorAndNeverAPanic(t *testing.T) {
	payload := live.Encode(full())
	for i := range payload {
		if _, err := live.Decode(payload[:i]); err == nil {
			t.Fatalf("cut to %d bytes: read", i)
		}
		for bit := range 8 {
			bad := append([]byte(nil), payload...)
			bad[i] ^= 1 << bit
			_, _ = live.Decode(bad) // an error or another record, whose checksum is wrong
		}
	}
}

func TestATransactionWrittenByALaterReleaseIsRead(t *testing.T) {
	payload := live.Encode(&payment.Record{ID: ledger.ID{1}, Partner: 3})
	later := append([]byte(nil), payload...)
	later[3]++                                  // one pair more
	later = append(later, 0xcc, 200, 0xa1, 'x') // key 200: "x"
	r, err := live.Decode(later)
	if err != nil || r.Partner != 3 {
		t.Errorf("%+v (%v)", r, err)
	}
}

package subscription_test

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"

	subscriptionactor "mizan/actors/subscription"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/subscription"
)

// fullRecord returns a subscription with a value in every field.
func fullRecord(random *rand.Rand) *subscription.Record {
	id := func() (id ledger.ID) {
		for i := range id {
			id[i] = byte(1 + random.IntN(255))
		}
		return id
	}
	states := subscription.Machine.States()[1:] // the zero state is never stored
	return &subscription.Record{
		NotifiedEvents: 1 + random.Uint64N(1<<40), UnnotifiedEvents: 1 + random.Uint64N(1<<40), ID: id(), Partner: 1 + random.Int64N(1<<40), Terminal: id(), Asset: money.Asset{Currency: "USDT", Network: "tron", Env: money.Test},
		Terms: subscription.Terms{
			InitialPayment: id(), Amount: money.FromUint64(1 + random.Uint64N(1<<62)), PeriodDays: 1 + random.IntN(3660), Metadata: []byte(`{"n":` + strconv.Itoa(random.Int()) + `}`),
		},
		Progress: subscription.Progress{
			State: states[random.IntN(len(states))], Anchor: ledger.Micros(1 + random.Int64N(1<<60)), NextCharge: ledger.Micros(1 + random.Int64N(1<<60)),
			Renewals: 1 + random.Uint64N(1<<62), RenewalsBegun: 1 + random.Uint64N(1<<62), LastTransaction: id(), Failures: byte(1 + random.IntN(255)), Inquiries: byte(1 + random.IntN(255)),
		},
	}
}

// This test fails if the codec lacks a field of the record.
func TestEveryFieldOfASubscriptionIsStored(t *testing.T) {
	random := testseed.Random(t)
	for range 200 {
		want := fullRecord(random)
		for _, v := range []reflect.Value{reflect.ValueOf(*want), reflect.ValueOf(want.Terms), reflect.ValueOf(want.Progress)} {
			for i := range v.NumField() {
				if v.Field(i).IsZero() {
					t.Fatalf("the test leaves %s empty", v.Type().Field(i).Name)
				}
			}
		}
		got, err := subscriptionactor.Decode(want.ID, subscriptionactor.Encode(want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("stored\n%+v (%v), want\n%+v", got, err, want)
		}
	}
}

func TestADamagedSubscriptionIsAnErrorAndNeverAPanic(t *testing.T) {
	r := fullRecord(testseed.Random(t))
	payload := subscriptionactor.Encode(r)
	for i := range payload {
		if _, err := subscriptionactor.Decode(r.ID, payload[:i]); err == nil {
			t.Fatalf("cut to %d bytes: read", i)
		}
		for bit := range 8 {
			damaged := append([]byte(nil), payload...)
			damaged[i] ^= 1 << bit
			_, _ = subscriptionactor.Decode(r.ID, damaged) // returns an error or another record; in the store a checksum detects the damage
		}
	}
}

// A record that was decoded is the same after it is encoded and decoded again.
func FuzzDecode(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	f.Add([]byte(nil))
	f.Add([]byte{1, 0x80})
	for range 8 {
		f.Add(subscriptionactor.Encode(fullRecord(random)))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, err := subscriptionactor.Decode(ledger.ID{1}, payload)
		if err != nil {
			return
		}
		reread, err := subscriptionactor.Decode(ledger.ID{1}, subscriptionactor.Encode(r))
		if err != nil || !reflect.DeepEqual(reread, r) {
			t.Fatalf("%+v is read, written and read as %+v (%v)", r, reread, err)
		}
	})
}

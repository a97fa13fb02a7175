package codec_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
)

// wholeValues has a function that makes random values, for each type that is stored as one value.
var wholeValues = map[reflect.Type]func(*rand.Rand) any{
	reflect.TypeFor[money.Amount]():   func(random *rand.Rand) any { return money.FromUint64(1 + random.Uint64N(1<<63)) },
	reflect.TypeFor[money.Rate]():     func(random *rand.Rand) any { return rate(fmt.Sprint(1+random.IntN(1_000), ".", 1+random.IntN(8))) },
	reflect.TypeFor[money.Env]():      func(*rand.Rand) any { return money.Test },
	reflect.TypeFor[payment.Type]():   func(*rand.Rand) any { return payment.Payout },
	reflect.TypeFor[payment.OpKind](): func(random *rand.Rand) any { return payment.OpKind(1 + random.IntN(4)) },
	reflect.TypeFor[netip.Addr]():     func(random *rand.Rand) any { return netip.AddrFrom4([4]byte{1, 2, 3, byte(random.Int())}) },
	reflect.TypeFor[ledger.ID]():      func(random *rand.Rand) any { return ledger.ID{byte(1 + random.IntN(255)), 15: byte(random.Int())} },
	reflect.TypeFor[[]byte]():         func(random *rand.Rand) any { return []byte(fmt.Sprintf(`{"n":%d}`, random.Int())) },
}

func rate(text string) money.Rate {
	r, err := money.ParseRate(text)
	if err != nil {
		panic(err)
	}
	return r
}

// fill calls isChosen for each field, at every depth. If isChosen returns true, the field gets a random value other
// than zero.
func fill(v reflect.Value, random *rand.Rand, isChosen func() bool) {
	if newValue, ok := wholeValues[v.Type()]; ok {
		if isChosen() {
			v.Set(reflect.ValueOf(newValue(random)))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() { // unexported fields are not stored, because they are derived
				fill(v.Field(i), random, isChosen)
			}
		}
	case reflect.Pointer:
		if isChosen() {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), random, isChosen)
		}
	case reflect.Slice:
		if isChosen() {
			v.Set(reflect.MakeSlice(v.Type(), 1+random.IntN(3), 3))
			for i := range v.Len() {
				fill(v.Index(i), random, isChosen)
			}
		}
	default:
		if isChosen() {
			fillScalar(v, random)
		}
	}
}

func fillScalar(v reflect.Value, random *rand.Rand) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text \x00é ", random.Int()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(1 + random.Uint64N(255))
	case reflect.Uint64, reflect.Uint32:
		v.SetUint(1 + random.Uint64N(1<<20))
	case reflect.Int, reflect.Int64:
		v.SetInt(1 + random.Int64N(1<<50))
	default:
		panic("the test can't fill a " + v.Type().String())
	}
}

// recordWith returns a record. Each field for which isChosen returns true has a random value. Fields that the codec does not
// store, or that are stored elsewhere, have the value that Decode returns.
func recordWith(random *rand.Rand, isChosen func() bool) *payment.Record {
	r := new(payment.Record)
	fill(reflect.ValueOf(r).Elem(), random, isChosen)
	r.FinishedAt = 0 // stored in the row around the payload
	if r.SettlementAsset.Env = r.Asset.Env; r.Rate.IsZero() {
		r.SettlementAsset = money.Asset{} // a record without a conversion has none
	}
	r.HasDescription = r.HasDescription || r.Description != ""
	if r.MerchantAmount.Abs.IsZero() {
		r.MerchantAmount.Negative = false
	}
	return r
}

// A new field of the record, or of a type inside it, fails here if the codec does not store it.
func TestEveryFieldOfATransactionIsStored(t *testing.T) {
	want := recordWith(testseed.Random(t), func() bool { return true })
	got, err := paymentcodec.Decode(paymentcodec.Encode(want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("stored\n%+v (%v), want\n%+v", got, err, want)
	}
	empty := &payment.Record{}
	if got, err := paymentcodec.Decode(paymentcodec.Encode(empty)); err != nil || !reflect.DeepEqual(got, empty) {
		t.Errorf("an empty record: %+v (%v)", got, err)
	}
}

// If any fields are empty, the other fields are still decoded with their own values.
func TestAnySubsetOfFieldsIsStored(t *testing.T) {
	random := testseed.Random(t)
	for range 2_000 {
		oneIn := 1 + random.IntN(6)
		want := recordWith(random, func() bool { return random.IntN(oneIn) == 0 })
		if got, err := paymentcodec.Decode(paymentcodec.Encode(want)); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("stored\n%+v (%v), want\n%+v", got, err, want)
		}
	}
}

func TestADamagedTransactionIsAnErrorAndNeverAPanic(t *testing.T) {
	payload := paymentcodec.Encode(recordWith(testseed.Random(t), func() bool { return true }))
	for i := range payload {
		if _, err := paymentcodec.Decode(payload[:i]); err == nil {
			t.Fatalf("the first %d bytes are decoded without an error", i)
		}
		for bit := range 8 {
			damaged := append([]byte(nil), payload...)
			damaged[i] ^= 1 << bit
			_, _ = paymentcodec.Decode(damaged) // Decode may return an error or a different record; in the store, a checksum reveals the damage
		}
	}
}

// A record that Decode accepts is the same after it is encoded and decoded again.
func FuzzDecode(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	f.Add([]byte(nil))
	f.Add([]byte{2, 0x80})
	f.Add(paymentcodec.Encode(new(payment.Record)))
	f.Add(paymentcodec.Encode(recordWith(random, func() bool { return true })))
	for oneIn := range 6 {
		f.Add(paymentcodec.Encode(recordWith(random, func() bool { return random.IntN(1+oneIn) == 0 })))
	}
	largeRecord := &payment.Record{Request: payment.Request{AttemptedAt: 1 << 50, PayerIP: netip.MustParseAddr("2001:db8::1")}}
	for i := range 100 {
		largeRecord.Volumes = append(largeRecord.Volumes, payment.Volume{Limit: ledger.ID{byte(i)}, Window: "2026-11", Subject: strings.Repeat("f", i)})
	}
	for i := range 32 {
		largeRecord.Attempts = append(largeRecord.Attempts, payment.Attempt{
			Terminal: ledger.ID{byte(i)}, Failure: payment.Failure{Detail: strings.Repeat("r", i)}, At: 1, Outcome: payment.AttemptSkipped, Priority: -i,
		})
	}
	f.Add(paymentcodec.Encode(largeRecord))
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, err := paymentcodec.Decode(payload)
		if err != nil {
			return
		}
		reread, err := paymentcodec.Decode(paymentcodec.Encode(r))
		if err != nil {
			t.Fatalf("%+v is decoded, but not after it is encoded again: %v", r, err)
		}
		if a, b := paymentcodec.Encode(r), paymentcodec.Encode(reread); string(a) != string(b) {
			t.Fatalf("%+v is written as\n%x, then as\n%x", r, a, b)
		}
	})
}

func TestATransactionWrittenByALaterReleaseIsRead(t *testing.T) {
	payload := paymentcodec.Encode(&payment.Record{ID: ledger.ID{1}, Partner: 3})
	laterPayload := append([]byte(nil), payload...)
	laterPayload[3]++                                         // the map has one pair more
	laterPayload = append(laterPayload, 0xcc, 200, 0xa1, 'x') // key 200: "x"
	r, err := paymentcodec.Decode(laterPayload)
	if err != nil || r.Partner != 3 {
		t.Errorf("%+v (%v)", r, err)
	}
}

// An operation is stored as an array of values. A later release may add a value at the end of this array.
func TestALongerArrayOfALaterReleaseIsRead(t *testing.T) {
	want := &payment.Record{ID: ledger.ID{1}, Op: &payment.Op{Kind: payment.OpRefund, From: payment.Charged}}
	payload := paymentcodec.Encode(want)
	arrayHead := len(paymentcodec.Encode(&payment.Record{ID: ledger.ID{1}})) + 1 // index of the array's length; the operation is stored last
	laterPayload := append([]byte(nil), payload...)
	laterPayload[arrayHead]++
	laterPayload = append(laterPayload, 0x92, 1, 0xa1, 'x') // [1, "x"]
	if r, err := paymentcodec.Decode(laterPayload); err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("%+v (%v)", r, err)
	}
}

package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

var (
	started = time.Date(2026, 9, 3, 10, 15, 30, 123456000, time.UTC)
	stamp   = posting.Stamp{Version: 3, LastSeq: 9, Started: ledger.MicrosOf(started), Updated: ledger.MicrosOf(started.Add(time.Second))}
	txID    = uuid.MustParse("0f8fad5b-d9cb-469f-a165-70867728950e")
)

func charged() *payment.Record {
	return &payment.Record{
		ID: txID, Partner: 1, Status: payment.Charged,
		Request: payment.Request{
			Type: payment.Payment, TxID: "order \"1\"", Amount: money.FromUint64(10_000), Asset: money.Asset{Currency: "USD", Env: money.Test},
			Description: "Two <apples>", Described: true, MerchantMeta: []byte(`{"k":"v"}`), Customer: []byte(`{"email":"a@b"}`),
			ReturnURL: "https://a/", FailURL: "https://b/", Method: "bank_card", CardBIN: "424242", CardLast4: "4242", CardPrint: "p",
		},
		Fee: money.FromUint64(250), WithFee: money.FromUint64(10_000), Dest: money.FromUint64(9_750),
		Merchant: money.Signed{Abs: money.FromUint64(9_750)},
		Terminal: ledger.ID{1}, Route: "simulator", RRN: "123456789012", Finished: ledger.MicrosOf(started.Add(time.Second)),
	}
}

func TestTransactionIsShown(t *testing.T) {
	const whole = `{"id":"0f8fad5b-d9cb-469f-a165-70867728950e","txid":"order \"1\"","type":"payment","status":"charged","error_description":"",` +
		`"amount":"10000","amount_with_fee":"10000","amount_dest":"9750","merchant_amount":"9750","currency":"USD","currency_dest":"USD","env":"test","scale":2,` +
		`"description":"Two <apples>","merchant_meta":{"k":"v"},"started":"2026-09-03T10:15:30.123456+00:00","finished":"2026-09-03T10:15:31.123456+00:00",` +
		`"widget_url":null,"auth_params":null,"additional_params_for_auth":{},"route":"simulator","rrn":"123456789012"}`
	for _, c := range []struct {
		name   string
		change func(*payment.Record)
		// what the whole differs in, as old → new pairs
		edits []string
	}{
		{"charged", func(*payment.Record) {}, nil},
		{"no txid", func(r *payment.Record) { r.TxID = "" }, []string{`"order \"1\""`, `null`}},
		{"payout", func(r *payment.Record) { r.Type = payment.Payout },
			[]string{`"type":"payment"`, `"type":"payout"`, `"auth_params":null,"additional_params_for_auth":{},`, ``}},
		{"negative merchant amount", func(r *payment.Record) { r.Merchant = money.Difference(money.Amount{}, money.FromUint64(7)) },
			[]string{`"merchant_amount":"9750"`, `"merchant_amount":"-7"`}},
		{"never routed", func(r *payment.Record) {
			r.Terminal, r.Route, r.RRN, r.Status, r.Error = ledger.ID{}, "", "", payment.Rejected, "no terminal available"
		}, []string{`"status":"charged","error_description":""`, `"status":"rejected","error_description":"no terminal available"`,
			`"Two <apples>"`, `null`, `"route":"simulator","rrn":"123456789012"`, `"route":""`}},
		{"not final", func(r *payment.Record) { r.Status, r.Finished = payment.Charging, 0 },
			[]string{`"status":"charged"`, `"status":"charging"`, `"2026-09-03T10:15:31.123456+00:00"`, `null`}},
		{"nothing described", func(r *payment.Record) { r.Described, r.Description = false, "" }, []string{`"Two <apples>"`, `null`}},
		{"described as nothing", func(r *payment.Record) { r.Description = "" }, []string{`"Two <apples>"`, `""`}},
		{"terminal's own text", func(r *payment.Record) { r.ShownText = "Shop" }, []string{`"Two <apples>"`, `"Shop"`}},
		{"terminal's own text, nothing sent", func(r *payment.Record) { r.ShownText, r.Described, r.Description = "Shop", false, "" }, []string{`"Two <apples>"`, `"Shop"`}},
		{"no meta", func(r *payment.Record) { r.MerchantMeta = nil }, []string{`{"k":"v"}`, `{}`}},
		{"network", func(r *payment.Record) { r.Asset = money.Asset{Currency: "USDT", Network: "bsc", Env: money.Prod} },
			[]string{`"currency":"USD","currency_dest":"USD","env":"test","scale":2`, `"currency":"USDT","currency_dest":"USDT","network":"bsc","env":"prod","scale":18`}},
		{"unresolved scale", func(r *payment.Record) { r.Asset = money.Asset{Currency: "USDT", Env: money.Prod} },
			[]string{`"currency":"USD","currency_dest":"USD","env":"test","scale":2`, `"currency":"USDT","currency_dest":"USDT","env":"prod","scale":null`}},
		{"returned", func(r *payment.Record) { r.Status, r.ReturnID = payment.Reversed, txID },
			[]string{`"status":"charged"`, `"status":"reversed"`, `"rrn":"123456789012"}`, `"rrn":"123456789012","return_id":"0f8fad5b-d9cb-469f-a165-70867728950e"}`}},
	} {
		r := charged()
		c.change(r)
		want := whole
		for i := 0; i < len(c.edits); i += 2 {
			if !strings.Contains(want, c.edits[i]) {
				t.Fatalf("%s: the whole does not have %s", c.name, c.edits[i])
			}
			want = strings.Replace(want, c.edits[i], c.edits[i+1], 1)
		}
		got := string(appendTransaction(nil, r, stamp))
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, want)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"params":{"type":"payment","amount":"12345","currency":"USD","txid":"order-000000123456","env":"test","returnUrl":"https://shop.example/return","failUrl":"https://shop.example/fail",` + card + `,"description":"Order 123456","merchant_meta":{"order":"123456"}}}`)
	fingerprint := func([]byte) string { return "0123456789abcdef0123456789abcdef" }
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		params, err := transactionParams(body)
		if err != nil {
			b.Fatal(err)
		}
		c := readCreation(params)
		if c.check(fingerprint); len(c.problems) != 0 {
			b.Fatal(c.problems)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	r := charged()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = appendTransaction(buf[:0], r, stamp)
	}
	b.SetBytes(int64(len(buf)))
}

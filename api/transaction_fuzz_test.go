package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// wantSaneResponse checks that a response is JSON and not an internal error.
func wantSaneResponse(t *testing.T, sent string, r *response) {
	t.Helper()
	if r.status >= 500 || r.status < 200 || !json.Valid([]byte(r.body)) {
		t.Fatalf("%q: %d %s", sent, r.status, r.body)
	}
}

// forTest returns a copy of the fixture that reports to the t of one run of a fuzz target.
func (f *fixture) forTest(t *testing.T) *fixture {
	copied := *f
	copied.t = t
	return &copied
}

// FuzzCreate sends any bytes as the body of a create request to the whole service.
func FuzzCreate(f *testing.F) {
	for _, body := range []string{
		paymentBody(`"amount":"100","currency":"USD","txid":"t"`), paymentBody(`"amount":"1","merchant_meta":{"a":[{}]},"customer":{"email":"e"},"lang":"en"`),
		`{"params":{"type":"payout","amount":"5","env":"test","money_storage":{"type":"sepa"}}}`,
		`{"params":{"type":"payment","amount":"5","hosted":true,"description":"\ud83d\ude00"}}`,
		`{"params":{"type":"payment","amount":"5","currency":"USDT","network":"tron","money_storage":{"type":"direct_debit","scheme":"ach"}}}`,
		`{"params":{}}`, `[]`, `{`, "", "\xff", `{"params":{"type":"payment","amount":1e400}}`, strings.Repeat("[", 100),
	} {
		f.Add([]byte(body))
	}
	sharedFixture := newFixture(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		runFixture := sharedFixture.forTest(t)
		r := runFixture.partner().with("content-type", "application/json").post(transactions, string(body))
		wantSaneResponse(t, string(body), r)
		switch r.status {
		case 201:
			if _, err := uuid.Parse(r.at("id")); err != nil || r.header.Get("location") != transactions+"/"+r.at("id") {
				t.Fatalf("%q: %v %s", body, r.header, r.body)
			}
			wantSaneResponse(t, string(body), runFixture.partner().get(transactions+"/"+r.at("id")).want(200, ""))
		case 400, 413, 422:
		default:
			t.Fatalf("%q: %d %s", body, r.status, r.body)
		}
	})
}

// FuzzAmount sends any JSON text as the amount of a create request, a refund and a commit.
func FuzzAmount(f *testing.F) {
	for _, literal := range []string{
		`"1"`, `"0"`, `"-1"`, `1`, `"01"`, `"1e5"`, `" 1"`, `null`, `"\u0031"`, `[]`, `{}`, `"1251"`, `"1","amount":"2"`,
		`"115792089237316195423570985008687907853269984665640564039457584007913129639935"`, `"115792089237316195423570985008687907853269984665640564039457584007913129639936"`,
	} {
		f.Add(literal)
	}
	sharedFixture := newFixture(f)
	// This payment is rejected, so each refund and commit is refused, and all runs can share the payment.
	id := sharedFixture.create(`"type":"payment","amount":"1"`).at("id")
	f.Fuzz(func(t *testing.T, literal string) {
		runFixture := sharedFixture.forTest(t)
		transaction := runFixture.partner().post(transactions, paymentBody(`"currency":"USD","amount":`+literal))
		wantSaneResponse(t, literal, transaction)
		if transaction.status == 201 {
			// A literal that is not one JSON value may close the amount and add further members, which are refused for reasons of
			// their own.
			var text string
			if json.Unmarshal([]byte(literal), &text) == nil && transaction.at("amount") != text {
				t.Fatalf("%s was taken as %s", literal, transaction.at("amount"))
			}
		}
		refund := runFixture.changeTransaction(id, `"type":"refund","amount":`+literal)
		wantSaneResponse(t, literal, refund)
		commit := runFixture.partner().post(operation("commit", id), `{"params":{"amount":`+literal+`}}`)
		wantSaneResponse(t, literal, commit)
		if refund.status < 400 || commit.status < 400 {
			t.Fatalf("%s: refund %d %s, commit %d %s", literal, refund.status, refund.body, commit.status, commit.body)
		}
	})
}

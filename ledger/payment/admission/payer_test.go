package admission

import (
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/payment"
)

func TestReceiptGoesToTheCustomersAddress(t *testing.T) {
	for customer, want := range map[string]string{
		`{"email":"ann@customer.example"}`:                         "ann@customer.example",
		`{"email":" Ann.O'Neil+shop@Mail.Customer.example "}`:      "Ann.O'Neil+shop@Mail.Customer.example",
		`{"email":"иван@почта.example","phone":"1"}`:               "иван@почта.example",
		`{"EMAIL":"ann@customer.example"}`:                         "",
		`{"email":"ann"}`:                                          "",
		`{"email":"Ann <ann@customer.example>"}`:                   "",
		`{"email":"ann@customer.example, bob@customer.example"}`:   "",
		`{"email":"ann@customer.example\r\nBcc: b@other.example"}`: "",
		`{"email":"ann\u2028@customer.example"}`:                   "",
		`{"email":"ann@[127.0.0.1]"}`:                              "",
		`{"email":"root@localhost"}`:                               "",
		`{"email":"` + strings.Repeat("a", 250) + `@b.example"}`:   "",
		`{"email":7}`:  "",
		`{"email":""}`: "",
		`{}`:           "",
		``:             "",
	} {
		r := &payment.Record{Request: payment.Request{Type: payment.Payment, Customer: []byte(customer)}}
		if got := ReceiptAddress(r); got != want {
			t.Errorf("%s: %q, want %q", customer, got, want)
		}
	}
}

// Only a payment has a payer who gets a receipt. A payout has none. The return of a transaction's money or of an attempt's
// money has none either.
func TestOnlyPaymentsOfPayersHaveReceipts(t *testing.T) {
	customer := []byte(`{"email":"ann@customer.example"}`)
	for name, r := range map[string]*payment.Record{
		"a payout":                      {Request: payment.Request{Type: payment.Payout, Customer: customer}},
		"the return of a payout":        {Request: payment.Request{Type: payment.Payment, Customer: customer}, ReversalOf: ledger.ID{1}},
		"the money of an ended attempt": {Request: payment.Request{Type: payment.Payment, Customer: customer}, AttemptOf: ledger.ID{1}},
	} {
		if got := ReceiptAddress(r); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

package api

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	paymentactor "mizan/actors/payment"
	"mizan/api/payments"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

// instantPayments is a payment service whose creates return immediately.
type instantPayments struct {
	payments.Transactions
	result paymentactor.Result
}

// Create implements payments.Transactions.
func (p instantPayments) Create(c paymentactor.Create) (paymentactor.Result, error) {
	c.Card.Wipe()
	return p.result, nil
}

// onePartner is a directory with one partner.
type onePartner struct {
	Directory
	key     directory.APIKey
	partner directory.Partner
	org     directory.Organization
}

// Authenticate implements auth.Directory.
func (d *onePartner) Authenticate(ledger.ID, []byte) (*directory.APIKey, *directory.Partner, bool) {
	return &d.key, &d.partner, true
}

// Organization implements auth.Directory.
func (d *onePartner) Organization(ledger.ID) (*directory.Organization, bool) { return &d.org, true }

// BenchmarkCreate measures what this package and the router do to create a transaction: everything
// except reading and writing HTTP, the lookup of the API key and the payment itself.
func BenchmarkCreate(b *testing.B) {
	server := New(Config{
		Payments:  instantPayments{result: paymentactor.Result{Record: benchRecord(), Header: benchHeader}},
		Directory: &onePartner{partner: directory.Partner{Active: true}, org: directory.Organization{Status: directory.Active}},
		Clock:     clock.NewManual(time.Unix(0, 0)), BeginCommand: func() func() { return func() {} },
		Fingerprint: func([]byte) string { return "0123456789abcdef0123456789abcdef" },
		Observe:     func(Exchange) {},
	})
	server.app.Handler() // builds the router
	handler := server.app.Server().Handler
	body := `{"params":{"type":"payment","amount":"12345","currency":"USD","txid":"order-000000123456","env":"test","returnUrl":"https://shop.example/return","failUrl":"https://shop.example/fail",` + benchCard + `,"description":"Order 123456","merchant_meta":{"order":"123456"}}}`
	requestHeader := "POST /api/v1/transactions HTTP/1.1\r\nHost: 127.0.0.1:8443\r\nUser-Agent: bench\r\nContent-Type: application/json\r\nX-Api-Key: mzk_" + strings.Repeat("k", 43) +
		"\r\nX-Organization-Id: 3e0a2c58-61f8-4b53-8a0a-0f2f3a9c1d01\r\nAccept-Encoding: gzip\r\n\r\n"
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&fasthttp.Request{}, nil, nil)
	if err := ctx.Request.Header.Read(bufio.NewReader(strings.NewReader(requestHeader))); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		ctx.ResetUserValues()
		ctx.Response.Reset()
		ctx.Request.SetBodyString(body) // the previous iteration wiped the body
		if handler(ctx); ctx.Response.StatusCode() != 201 {
			b.Fatalf("%d %s", ctx.Response.StatusCode(), ctx.Response.Body())
		}
	}
}

const benchCard = `"money_storage":{"type":"bank_card","cardnumber":"4242424242424242","cardholder":"JOHN DOE","exp_month":"12","exp_year":"2030","cvv":"123"}`

// benchHeader has the version and the times that the journal stores with the record.
var benchHeader = posting.RecordHeader{Version: 3, LastSeq: 9, StartedAt: 1788430530123456, UpdatedAt: 1788430531123456, Due: 1788432330123456}

func benchRecord() *payment.Record {
	return &payment.Record{
		ID: ledger.ID{1}, Partner: 1, Status: payment.Charged,
		Request: payment.Request{
			Type: payment.Payment, TxID: "order \"1\"", Amount: money.FromUint64(10_000), Asset: money.Asset{Currency: "USD", Env: money.Test},
			Description: "Two <apples>", HasDescription: true, MerchantMeta: []byte(`{"k":"v"}`), Customer: []byte(`{"email":"a@b"}`),
			ReturnURL: "https://a/", FailURL: "https://b/", Method: "bank_card", CardBIN: "424242", CardLast4: "4242", CardFingerprint: "p",
		},
		Fee: money.FromUint64(250), AmountWithFee: money.FromUint64(10_000), DestAmount: money.FromUint64(9_750),
		MerchantAmount: money.Signed{Abs: money.FromUint64(9_750)},
		Terminal:       ledger.ID{1}, Route: "simulator", RRN: "123456789012", FinishedAt: benchHeader.UpdatedAt,
	}
}

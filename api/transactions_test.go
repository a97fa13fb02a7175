package api_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	paymentactor "mizan/actors/payment"
	"mizan/api"
	"mizan/api/payments"
	"mizan/ledger"
)

const transactions = "/api/v1/transactions"

func TestPaymentIsCreatedAndRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.partner().post(transactions, paymentBody(`"amount":"1250","currency":"USD","txid":"order-1","description":"Shoes","merchant_meta":{"basket":[1,2]}`)).want(201, "")
	id := transaction.at("id")
	if transaction.header.Get("location") != transactions+"/"+id || transaction.header.Get("x-idempotent-replay") != "" {
		t.Errorf("headers %v", transaction.header)
	}
	for path, want := range map[string]string{
		"status": "charged", "type": "payment", "txid": "order-1", "amount": "1250", "amount_with_fee": "1250", "merchant_amount": "1250", "amount_dest": "1250",
		"currency": "USD", "currency_dest": "USD", "env": "test", "scale": "2", "description": "Shoes", "merchant_meta.basket": "[1,2]", "error_description": "",
		"route": "simulator", "started": "2026-09-03T10:15:30.123", "widget_url": "null", "auth_params": "null", "network": "(absent)",
	} {
		if got := transaction.at(path); got != want && !(path == "started" && strings.HasPrefix(got, want) && strings.HasSuffix(got, "+00:00")) {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
	if rrn := transaction.at("rrn"); len(rrn) != 12 {
		t.Errorf("rrn %q", rrn)
	}
	f.partner().get(transactions+"/"+id).want(200, transaction.body)
}

func TestPayoutIsPaid(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.partner().post(transactions, `{"params":{"type":"payout","amount":"100","currency":"EUR","env":"test","money_storage":{"type":"bank_card","cardnumber":"4242424242424242"}}}`).want(201, "")
	if transaction.at("status") != "charged" || transaction.at("auth_params") != "(absent)" || transaction.at("txid") != "null" {
		t.Errorf("%s", transaction.body)
	}
}

func TestCreateThatIsNotAdmittedIsRejected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct{ body, reason string }{
		{`{"params":{"type":"payment","amount":"1",` + urls + `}}`, "unexpected card"},
		{`{"params":{"type":"payment","amount":"1",` + urls + `,"money_storage":{}}}`, "unexpected card"},
		{`{"params":{"type":"payment","amount":"1",` + goodCard + `}}`, "return_url/fail_url params not specified"},
		{`{"params":{"type":"payment","amount":"1","returnUrl":"https://a/",` + goodCard + `}}`, "return_url/fail_url params not specified"},
		{paymentBody(`"amount":"1` + strings.Repeat("0", 73) + `"`), "amount out of range"},
		{`{"params":{"type":"payout","amount":"99999999999999","env":"test","money_storage":{"type":"bank_card","cardnumber":"4242424242424242"}}}`, "insufficient balance"},
	} {
		transaction := f.partner().post(transactions, c.body).want(201, "")
		if transaction.at("status") != "rejected" || transaction.at("error_description") != c.reason {
			t.Errorf("%s: %s", c.body, transaction.body)
		}
	}
	created := f.partner().post(transactions, strings.Replace(paymentBody(`"amount":"7","currency":"USD"`), "4242424242424242", "4000000000000002", 1)).want(201, "")
	if created.at("status") != "rejected" || created.at("error_code") != "card_declined" {
		t.Errorf("declined: %s", created.body)
	}
	// A query parameter does not set the environment.
	created = f.partner().post(transactions+"?env=test", strings.Replace(paymentBody(`"amount":"7"`), `"env":"test",`, "", 1)).want(201, "")
	if created.at("env") != "prod" || created.at("currency") != "RUB" {
		t.Errorf("env and currency: %s", created.body)
	}
}

func TestCreateRefusalListsEveryBadField(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	before := f.auditor().get("/api/v1/ledger/head").at("data.tree_size")
	f.partner().post(transactions, `{"params":{"type":"payment","amount":5,"currency":"JPY","txid":"`+strings.Repeat("x", 256)+`"}}`).want(422,
		`{"errors":[{"code":"invalid","detail":"amount must be a string of minor units","field":"amount"},`+
			`{"code":"invalid","detail":"unsupported currency JPY","field":"currency"},`+
			`{"code":"invalid","detail":"txid must be at most 255 characters","field":"txid"}]}`)
	f.partner().post(transactions, `{"type":"payment","amount":"5"}`).want(422, `{"error":"wrong params - can't init tx"}`)
	f.partner().post(transactions, `{"params":{"amount":"1"},"params":{"amount":"2"}}`).want(400, "")
	f.partner().post(transactions, `{"params":`).want(400, "")
	if after := f.auditor().get("/api/v1/ledger/head").at("data.tree_size"); after != before {
		t.Errorf("something was stored: %s events, were %s", after, before)
	}
}

func TestHostedCreateReturnsTheShortForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct{ fields, kind, txid, env string }{
		{`"type":"payment","env":"test","txid":"h-1","hosted":true`, "payment", "h-1", "test"},
		{`"type":"payment","show_widget":true,"description":"Shoes",` + urls, "payment", "null", "prod"},
		{`"type":"payout","env":"test","hosted":false,"show_widget":true`, "payout", "null", "test"},
		{`"type":"payment","env":"test","hosted":true,` + goodCard, "payment", "null", "test"},
	} {
		transaction := f.partner().post(transactions, `{"params":{"amount":"1250","currency":"USD",`+c.fields+`}}`).want(201, "")
		id := transaction.at("id")
		for field, want := range map[string]string{"status": "created", "type": c.kind, "env": c.env, "txid": c.txid, "amount": "1250", "currency": "USD"} {
			if got := transaction.at(field); got != want {
				t.Errorf("%s: %s is %s, want %s", c.fields, field, got, want)
			}
		}
		if names := slices.Sorted(maps.Keys(transaction.object())); strings.Join(names, " ") != "amount currency env id started status txid type widget_url" {
			t.Errorf("%s: fields %v", c.fields, names)
		}
		if !strings.HasPrefix(transaction.at("widget_url"), f.base()+"/pay/"+id+"?token=") || transaction.header.Get("location") != transactions+"/"+id {
			t.Errorf("%s: %v %s", c.fields, transaction.header, transaction.body)
		}
	}
}

func TestWaitingHostedCreateIsReplayedInTheShortForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.createHosted(`,"txid":"h-1"`)
	replayedBody := withoutAddress(first)
	f.advanceBy(time.Minute)
	for _, c := range []struct{ fields, mismatch string }{
		{`,"txid":"h-1"`, ""},
		{`,"txid":"h-1","description":"other"`, "description"},
		{`,"txid":"h-1","show_widget":false`, ""},
	} {
		again := f.createHosted(c.fields).want(201, replayedBody)
		if !again.isReplay() || again.header.Get("x-idempotent-mismatch") != c.mismatch || again.header.Get("location") != transactions+"/"+first.at("id") {
			t.Errorf("%s: %v", c.fields, again.header)
		}
	}
	direct := f.partner().post(transactions, paymentBody(`"amount":"1250","currency":"USD","txid":"h-1"`)).want(201, replayedBody)
	if direct.header.Get("x-idempotent-mismatch") != "returnUrl" {
		t.Errorf("another flow: %v", direct.header)
	}
	f.partner().post(operation("continue", first.at("id")), `{`+goodCard+`}`).want(200, "").wantStatus("charged", "")
	current := f.partner().get(transactions + "/" + first.at("id"))
	if later := f.createHosted(`,"txid":"h-1"`); later.body != current.body || later.at("status") != "charged" || later.at("widget_url") != "null" || later.header.Get("x-idempotent-mismatch") != "" {
		t.Errorf("once it is charged: %v %s", later.header, later.body)
	}
}

// withoutAddress returns the body of the response to a repeated request: the same body, but without the URL of the payer's page.
func withoutAddress(r *response) string {
	r.t.Helper()
	address := r.at("widget_url")
	if !strings.Contains(address, "/pay/") {
		r.t.Fatalf("no address in %s", r.body)
	}
	return strings.Replace(r.body, `"`+address+`"`, "null", 1)
}

// The fields of a hosted create request are checked like those of any other create request.
func TestBadFieldOfAHostedCreateIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for fields, detail := range map[string]string{
		`"amount":"0","hosted":true`:                                      "amount must be greater than zero",
		`"amount":"1","hosted":1`:                                         "hosted must be true or false",
		`"amount":"1","show_widget":"yes"`:                                "show_widget must be true or false",
		`"amount":"1","hosted":true,"money_storage":{"type":"x"}`:         "invalid money_storage type x",
		`"amount":"1","hosted":true,"txid":"` + textOf(256) + `"`:         "txid must be at most 255 characters",
		`"amount":"1","hosted":true,"description":"` + textOf(2001) + `"`: "description must be at most 2000 characters",
		`"amount":"1","hosted":true,"description":["` + textOf(20) + `"]`: "description must be a string",
	} {
		r := f.partner().post(transactions, `{"params":{"type":"payment",`+fields+`}}`)
		if r.status != 422 || r.at("errors.0.detail") != detail {
			t.Errorf("%.60s: %d %s, want %q", fields, r.status, r.body, detail)
		}
	}
}

func textOf(n int) string { return strings.Repeat("x", n) }

// The accepted currencies are exactly those of the specification, "Currencies and network".
func TestEveryCurrencyIsAccepted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	accepted := strings.Fields("RUB UAH AZN USD EUR GBP CHF TRY KZT CAD SGD IDR RUBT USDT USDC EURT ETH TRX TON ZOLT")
	if len(accepted) != 20 {
		t.Fatal("the specification names 20")
	}
	for _, code := range accepted {
		if transaction := f.partner().post(transactions, paymentBody(`"amount":"123456789012345678","currency":"`+code+`"`)).want(201, ""); transaction.at("currency") != code || transaction.at("amount") != "123456789012345678" {
			t.Errorf("%s: %s", code, transaction.body)
		}
	}
	for _, code := range []string{"JPY", "PLN", "AED", "643", "840", "usd", "BTC"} {
		f.partner().post(transactions, paymentBody(`"amount":"1","currency":"`+code+`"`)).want(422, `{"errors":[{"code":"invalid","detail":"unsupported currency `+code+`","field":"currency"}]}`)
	}
}

func TestNetworkIsResolvedOrLeftEmpty(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct{ fields, network, scale string }{
		{`"currency":"USDT","network":"bsc"`, "bsc", "18"}, {`"currency":"USDT","network":"tron"`, "tron", "6"}, {`"currency":"USDT"`, "(absent)", "null"},
		{`"currency":"TRX"`, "tron", "6"}, {`"currency":"ETH"`, "ethereum", "18"}, {`"currency":"TON"`, "ton", "9"}, {`"currency":"ZOLT"`, "(absent)", "8"}, {`"currency":"IDR"`, "(absent)", "2"},
	} {
		if transaction := f.partner().post(transactions, paymentBody(`"amount":"1",`+c.fields)).want(201, ""); transaction.at("network") != c.network || transaction.at("scale") != c.scale {
			t.Errorf("%s: %s", c.fields, transaction.body)
		}
	}
}

// Every money_storage type of the specification is accepted; a card scheme is not a type.
func TestEveryMoneyStorageTypeIsAccepted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, name := range strings.Fields(`bank_account sbp qr_code crypto e_wallet phone_payment bnpl open_banking apple_pay google_pay voucher gift_card
		totp provider_token square_nonce sepa upi netbanking boleto revolut_payout encrypted_qr native_gas username_subscription
		pix oxxo klarna alipay wechat_pay paynow grabpay ideal bancontact paypal_account venmo emi interac_present mollie_redirect revolut_checkout open_banking_redirect`) {
		transaction := f.create(`"type":"payment","amount":"1","currency":"USD","money_storage":{"type":"` + name + `"}`)
		if status := transaction.at("status"); status != "charged" && status != "action_required" {
			t.Errorf("%s: %s", name, transaction.body)
		}
	}
	for _, name := range []string{"ach", "acss", "bacs", "card", "Bank_Card"} {
		f.partner().post(transactions, `{"params":{"type":"payment","amount":"1","money_storage":{"type":"`+name+`"}}}`).want(422,
			`{"errors":[{"code":"invalid","detail":"invalid money_storage type `+name+`","field":"money_storage.type"}]}`)
	}
	for scheme, keys := range map[string]string{
		"ach": `"routing_number":"021000021","account_number":"1"`, "bacs": `"sort_code":"12-34-56","account_number":"1"`, "acss": `"institution_number":"001","transit_number":"00001","account_number":"1"`,
	} {
		f.create(`"type":"payment","amount":"1","currency":"USD","money_storage":{"type":"direct_debit","scheme":"`+scheme+`",`+keys+`}`).wantStatus("charged", "")
	}
}

// A create reads only params, and in params only the known fields.
func TestCreateIgnoresUnknownFields(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.partner().post(transactions+"?env=test&hosted=true", `{"env":"test","hosted":true,"notifyUrl":"https://x/","params":{"type":"payment","amount":"5","currency":"USD",`+urls+`,`+goodCard+
		`,"notifyUrl":"https://x/","notify_url":7,"status":"failed","id":"mine","Env":"test"}}`).want(201, "").wantStatus("charged", "")
	if transaction.at("env") != "prod" || transaction.at("id") == "mine" || strings.Contains(transaction.body, "https://x/") {
		t.Errorf("%s", transaction.body)
	}
}

func TestDescriptionIsEchoedOnceATerminalIsChosen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const described = `"type":"payment","amount":"1","currency":"USD","description":"Shoes"`
	if transaction := f.create(described).wantStatus("rejected", "unexpected card"); transaction.at("description") != "null" || transaction.at("route") != "" {
		t.Errorf("refused before routing: %s", transaction.body)
	}
	if created := f.create(described+`,`+strings.Replace(goodCard, good, "4000000000000002", 1)).wantStatus("rejected", "card_declined"); created.at("description") != "Shoes" || created.at("route") != "simulator" {
		t.Errorf("refused by the rail: %s", created.body)
	}
	f.setTerminalParams("payment", `{"description":"ACME"}`)
	if response := f.create(described+`,`+goodCard).wantStatus("charged", ""); response.at("description") != "ACME" {
		t.Errorf("the terminal's own text: %s", response.body)
	}
}

func TestDescriptionsUseThePartnersLanguage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	declined := `"type":"payment","amount":"1","currency":"USD","merchant_meta":{"lang":"fr","a":{"lang":"fr"}},` + strings.Replace(goodCard, good, "4000000000000002", 1)
	if created := f.create(declined).wantStatus("rejected", "card_declined"); created.at("merchant_meta.lang") != "en" || created.at("merchant_meta.a.lang") != "fr" {
		t.Errorf("%s", created.body)
	}
	if response := f.create(`"type":"payment","amount":"1","currency":"USD","lang":"fr",` + goodCard); response.at("merchant_meta") != "{}" {
		t.Errorf("%s", response.body)
	}
	f.admin().patch("/api/v1/partners/1", `{"lang":"ru"}`).want(200, "")
	rejected := f.create(declined).wantStatus("rejected", "Карта отклонена.")
	if rejected.at("merchant_meta.lang") != "ru" || rejected.at("merchant_meta.a.lang") != "fr" {
		t.Errorf("%s", rejected.body)
	}
	f.transaction(rejected.at("id")).want(200, rejected.body)
	id := f.create(`"type":"payment","amount":"1250","currency":"USD",` + goodCard).at("id")
	if refunded := f.changeTransaction(id, `"type":"refund"`).want(200, ""); refunded.at("merchant_meta.lang") != "ru" {
		t.Errorf("%s", refunded.body)
	}
}

func TestConversionIsShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.admin().put("/api/v1/rates", `{"from":"USD","to":"EUR","rate":"0.9"}`).want(200, "")
	f.setTerminalParams("payment", `{"settlement_currency":"EUR","fee_bps":"1000"}`)
	transaction := f.create(`"type":"payment","amount":"1001","currency":"USD",`+goodCard).wantStatus("charged", "")
	// The fee is 100, and 901 × 0.9 = 810.9 is rounded down.
	for field, want := range map[string]string{
		"amount": "1001", "amount_with_fee": "1001", "merchant_amount": "901", "amount_dest": "810", "currency": "USD", "currency_dest": "EUR", "currency_rate": "0.9", "scale_dest": "2",
	} {
		if got := transaction.at(field); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
	if unconverted := f.create(`"type":"payment","amount":"1","currency":"EUR",` + goodCard); unconverted.at("currency_rate") != "(absent)" || unconverted.at("scale_dest") != "(absent)" || unconverted.at("currency_dest") != "EUR" {
		t.Errorf("%s", unconverted.body)
	}
}

func TestReversalIsShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.charge("4000000000000259").wantStatus("charged", "")
	f.changeTransaction(transaction.at("id"), `"type":"refund","amount":"250"`).want(200, "")
	f.advanceBy(time.Minute)
	reversed := f.transaction(transaction.at("id"))
	returnPayout := f.transaction(reversed.at("return_id"))
	if reversed.at("status") != "reversed" || reversed.at("refunded_amount") != "250" {
		t.Errorf("%s", reversed.body)
	}
	for field, want := range map[string]string{"type": "payout", "status": "charged", "amount": "1000", "merchant_meta.reversal_of": transaction.at("id"), "txid": "null", "auth_params": "(absent)"} {
		if got := returnPayout.at(field); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
}

func TestTxidIsReplayed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.partner().post(transactions, paymentBody(`"amount":"100","currency":"USD","txid":"once"`)).want(201, "")
	for _, c := range []struct{ fields, mismatch string }{
		{`"amount":"100","currency":"USD","txid":"once"`, ""},
		{`"amount":"101","currency":"EUR","txid":"once"`, "amount"},
		{`"amount":"100","currency":"EUR","txid":"once"`, "currency"},
		{`"amount":"100","currency":"USD","txid":"once","description":"new"`, "description"},
	} {
		again := f.partner().post(transactions, paymentBody(c.fields)).want(201, first.body)
		if again.header.Get("x-idempotent-replay") != "true" || again.header.Get("x-idempotent-mismatch") != c.mismatch || again.header.Get("location") != transactions+"/"+first.at("id") {
			t.Errorf("%s: %v", c.fields, again.header)
		}
	}
	if otherPayment := f.partner().post(transactions, paymentBody(`"amount":"100","currency":"USD","txid":"Once"`)).want(201, ""); otherPayment.at("id") == first.at("id") {
		t.Error("txid is case-sensitive")
	}
	if foreignPayment := f.second().post(transactions, paymentBody(`"amount":"100","currency":"USD","txid":"once"`)).want(201, ""); foreignPayment.at("id") == first.at("id") || foreignPayment.header.Get("x-idempotent-replay") != "" {
		t.Error("another partner's txid was taken for this one's")
	}
	if neighbourPayment := f.otherPartner().post(transactions, paymentBody(`"amount":"100","currency":"USD","txid":"once"`)).want(201, ""); neighbourPayment.at("id") == first.at("id") || neighbourPayment.header.Get("x-idempotent-replay") != "" {
		t.Error("two partners of one organization may use one txid")
	}
	if a, b := f.partner().post(transactions, paymentBody(`"amount":"1"`)), f.partner().post(transactions, paymentBody(`"amount":"1"`)); a.at("id") == b.at("id") {
		t.Error("without a txid nothing is repeated")
	}
}

func TestConcurrentCreatesWithOneTxidMakeOneTransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const racers = 16
	responses := make([]*response, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			responses[i] = f.partner().post(transactions, paymentBody(`"amount":"5","currency":"USD","txid":"race"`))
		})
	}
	wg.Wait()
	replays := 0
	for _, a := range responses {
		if a.want(201, responses[0].body); a.header.Get("x-idempotent-replay") == "true" {
			replays++
		}
	}
	if replays != racers-1 {
		t.Errorf("%d of %d are replays", replays, racers)
	}
}

func TestForeignTransactionsEqualUnknownOnes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.partner().post(transactions, paymentBody(`"amount":"5","currency":"USD"`)).at("id")
	unknown := f.partner().get(transactions+"/"+uuid.NewString()).want(404, `{"error":"not_found","message":"no such transaction"}`)
	f.second().get(transactions+"/"+id).want(404, unknown.body)
	for _, bad := range []string{"x", strings.ToUpper(id) + "0", "urn:uuid:" + id, "{" + id + "}", strings.ReplaceAll(id, "-", ""), "%00"} {
		f.partner().get(transactions+"/"+bad).want(404, "")
	}
	f.partner().get(transactions+"/"+strings.ToUpper(id)).want(200, "")
}

// failingPayments is a payment service whose creates fail.
type failingPayments struct {
	payments.Transactions
	err   error
	panic any // what Create panics with, if set
}

// Create implements payments.Transactions.
func (r failingPayments) Create(paymentactor.Create) (paymentactor.Result, error) {
	if r.panic != nil {
		panic(r.panic)
	}
	return paymentactor.Result{}, r.err
}

func TestServiceErrorsBecomeResponses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		payments payments.Transactions
		status   int
		body     string
		logged   bool
	}{
		{failingPayments{err: ledger.Refuse("op", ledger.Unavailable, "the writer's queue is full")}, 503, `{"error":"unavailable","message":"the writer's queue is full"}`, false},
		{failingPayments{err: errors.New("secret words")}, 500, `{"error":"internal","message":"something went wrong on our side"}`, true},
		{failingPayments{panic: "CANARY 4242424242424242"}, 500, `{"error":"internal","message":"something went wrong on our side"}`, true},
		{failingPayments{err: ledger.Refuse("op", ledger.Conflict, "busy")}, 409, `{"error":"conflict","message":"busy"}`, false},
	} {
		f := newFixture(t, func(cfg *api.Config) { cfg.Payments = c.payments })
		r := f.partner().post(transactions, paymentBody(`"amount":"5"`)).want(c.status, c.body)
		if c.status == 503 && r.header.Get("retry-after") == "" {
			t.Error("503 without Retry-After")
		}
		log := f.log.String()
		if strings.Contains(log, r.header.Get("x-request-id")) != c.logged || r.header.Get("x-request-id") == "" {
			t.Errorf("%d: logged %q", c.status, log)
		}
		if strings.Contains(log, "CANARY") || strings.Contains(log, "4242424242424242") {
			t.Errorf("the log holds what was sent: %s", log)
		}
		f.anyone().get("/api/v1/health").want(200, "") // the server still answers
	}
}

func TestNilPointerPanicIsLoggedWithItsStack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *api.Config) { cfg.Payments = nil })
	f.partner().post(transactions, paymentBody(`"amount":"5"`)).want(500, "")
	if log := f.log.String(); !strings.Contains(log, "nil pointer dereference") || !strings.Contains(log, "createTransaction") {
		t.Errorf("log %q", log)
	}
}

func TestResponsesAreObserved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.partner().post(transactions, paymentBody(`"amount":"5"`))
	f.partner().get(transactions + "/" + uuid.NewString())
	f.anyone().get("/nothing/here")
	for _, want := range []string{transactions + " POST 201", transactions + "/:id GET 404", "none GET 404"} {
		if got := <-f.observed; got != want {
			t.Errorf("observed %q, want %q", got, want)
		}
	}
}

func TestLedgerBalancesAfterManyPayments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var wg sync.WaitGroup
	const n = 40
	for i := range n {
		wg.Go(func() {
			f.partner().post(transactions, paymentBody(fmt.Sprintf(`"amount":"%d","currency":"CHF","txid":"t%d"`, i+1, i))).want(201, "")
		})
	}
	wg.Wait()
	account := f.auditor().get("/api/v1/ledger/accounts/L:partner:1:available?currency=CHF&env=test")
	if got, want := account.at("data.0.balance"), fmt.Sprint(100_000_000+n*(n+1)/2); got != want {
		t.Errorf("balance %s, want %s", got, want)
	}
}

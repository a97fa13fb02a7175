package api_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	paymentactor "mizan/actors/payment"
	"mizan/api"
	"mizan/ledger"
)

const transactions = "/api/v1/transactions"

func TestPaymentIsCreatedAndRead(t *testing.T) {
	t.Parallel()
	h := open(t)
	made := h.partner().post(transactions, payment(`"amount":"1250","currency":"USD","txid":"order-1","description":"Shoes","merchant_meta":{"basket":[1,2]}`)).want(201, "")
	id := made.at("id")
	if made.header.Get("location") != transactions+"/"+id || made.header.Get("x-idempotent-replay") != "" {
		t.Errorf("headers %v", made.header)
	}
	for path, want := range map[string]string{
		"status": "charged", "type": "payment", "txid": "order-1", "amount": "1250", "amount_with_fee": "1250", "merchant_amount": "1250", "amount_dest": "1250",
		"currency": "USD", "currency_dest": "USD", "env": "test", "scale": "2", "description": "Shoes", "merchant_meta.basket": "[1,2]", "error_description": "",
		"route": "simulator", "started": "2026-09-03T10:15:30.123", "widget_url": "null", "auth_params": "null", "network": "(absent)",
	} {
		if got := made.at(path); got != want && !(path == "started" && strings.HasPrefix(got, want) && strings.HasSuffix(got, "+00:00")) {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
	if rrn := made.at("rrn"); len(rrn) != 12 {
		t.Errorf("rrn %q", rrn)
	}
	h.partner().get(transactions+"/"+id).want(200, made.body)
}

func TestPayoutIsPaid(t *testing.T) {
	t.Parallel()
	h := open(t)
	made := h.partner().post(transactions, `{"params":{"type":"payout","amount":"100","currency":"EUR","env":"test","money_storage":{"type":"bank_card","cardnumber":"4242424242424242"}}}`).want(201, "")
	if made.at("status") != "charged" || made.at("auth_params") != "(absent)" || made.at("txid") != "null" {
		t.Errorf("%s", made.body)
	}
}

func TestCreatedRejected(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, c := range []struct{ body, reason string }{
		{`{"params":{"type":"payment","amount":"1",` + urls + `}}`, "unexpected card"},
		{`{"params":{"type":"payment","amount":"1",` + urls + `,"money_storage":{}}}`, "unexpected card"},
		{`{"params":{"type":"payment","amount":"1",` + goodCard + `}}`, "return_url/fail_url params not specified"},
		{`{"params":{"type":"payment","amount":"1","returnUrl":"https://a/",` + goodCard + `}}`, "return_url/fail_url params not specified"},
		{payment(`"amount":"1` + strings.Repeat("0", 73) + `"`), "amount out of range"},
		{`{"params":{"type":"payout","amount":"99999999999999","env":"test","money_storage":{"type":"bank_card","cardnumber":"4242424242424242"}}}`, "insufficient balance"},
	} {
		made := h.partner().post(transactions, c.body).want(201, "")
		if made.at("status") != "rejected" || made.at("error_description") != c.reason {
			t.Errorf("%s: %s", c.body, made.body)
		}
	}
	made := h.partner().post(transactions, strings.Replace(payment(`"amount":"7","currency":"USD"`), "4242424242424242", "4000000000000002", 1)).want(201, "")
	if made.at("status") != "rejected" || made.at("error_description") != "card_declined" {
		t.Errorf("declined: %s", made.body)
	}
	// A query parameter does not set the environment.
	made = h.partner().post(transactions+"?env=test", strings.Replace(payment(`"amount":"7"`), `"env":"test",`, "", 1)).want(201, "")
	if made.at("env") != "prod" || made.at("currency") != "RUB" {
		t.Errorf("env and currency: %s", made.body)
	}
}

func TestCreateIsRefusedWithEveryField(t *testing.T) {
	t.Parallel()
	h := open(t)
	before := h.auditor().get("/api/v1/ledger/head").at("data.tree_size")
	h.partner().post(transactions, `{"params":{"type":"payment","amount":5,"currency":"JPY","txid":"`+strings.Repeat("x", 256)+`"}}`).want(422,
		`{"errors":[{"code":"invalid","detail":"amount must be a string of minor units","field":"amount"},`+
			`{"code":"invalid","detail":"unsupported currency JPY","field":"currency"},`+
			`{"code":"invalid","detail":"txid must be at most 255 characters","field":"txid"}]}`)
	h.partner().post(transactions, `{"type":"payment","amount":"5"}`).want(422, `{"error":"wrong params - can't init tx"}`)
	h.partner().post(transactions, `{"params":{"hosted":true,"type":"payment","amount":"5"}}`).want(404,
		`{"error":"not_found","message":"hosted pages are not served here: send money_storage"}`)
	h.partner().post(transactions, `{"params":{"amount":"1"},"params":{"amount":"2"}}`).want(400, "")
	h.partner().post(transactions, `{"params":`).want(400, "")
	if after := h.auditor().get("/api/v1/ledger/head").at("data.tree_size"); after != before {
		t.Errorf("something was stored: %s events, were %s", after, before)
	}
}

func TestTxidIsReplayed(t *testing.T) {
	t.Parallel()
	h := open(t)
	first := h.partner().post(transactions, payment(`"amount":"100","currency":"USD","txid":"once"`)).want(201, "")
	for _, c := range []struct{ fields, mismatch string }{
		{`"amount":"100","currency":"USD","txid":"once"`, ""},
		{`"amount":"101","currency":"EUR","txid":"once"`, "amount"},
		{`"amount":"100","currency":"EUR","txid":"once"`, "currency"},
		{`"amount":"100","currency":"USD","txid":"once","description":"new"`, "description"},
	} {
		again := h.partner().post(transactions, payment(c.fields)).want(201, first.body)
		if again.header.Get("x-idempotent-replay") != "true" || again.header.Get("x-idempotent-mismatch") != c.mismatch || again.header.Get("location") != transactions+"/"+first.at("id") {
			t.Errorf("%s: %v", c.fields, again.header)
		}
	}
	if other := h.partner().post(transactions, payment(`"amount":"100","currency":"USD","txid":"Once"`)).want(201, ""); other.at("id") == first.at("id") {
		t.Error("txid is case-sensitive")
	}
	if foreign := h.second().post(transactions, payment(`"amount":"100","currency":"USD","txid":"once"`)).want(201, ""); foreign.at("id") == first.at("id") || foreign.header.Get("x-idempotent-replay") != "" {
		t.Error("another partner's txid was taken for this one's")
	}
	if a, b := h.partner().post(transactions, payment(`"amount":"1"`)), h.partner().post(transactions, payment(`"amount":"1"`)); a.at("id") == b.at("id") {
		t.Error("without a txid nothing is repeated")
	}
}

func TestConcurrentCreatesOfOneTxidMakeOne(t *testing.T) {
	t.Parallel()
	h := open(t)
	const racers = 16
	answers := make([]*answer, racers)
	var all sync.WaitGroup
	for i := range racers {
		all.Go(func() {
			answers[i] = h.partner().post(transactions, payment(`"amount":"5","currency":"USD","txid":"race"`))
		})
	}
	all.Wait()
	replays := 0
	for _, a := range answers {
		if a.want(201, answers[0].body); a.header.Get("x-idempotent-replay") == "true" {
			replays++
		}
	}
	if replays != racers-1 {
		t.Errorf("%d of %d are replays", replays, racers)
	}
}

func TestForeignTransactionsAreUnknown(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.partner().post(transactions, payment(`"amount":"5","currency":"USD"`)).at("id")
	unknown := h.partner().get(transactions+"/"+uuid.NewString()).want(404, `{"error":"not_found","message":"no such transaction"}`)
	h.second().get(transactions+"/"+id).want(404, unknown.body)
	for _, bad := range []string{"x", strings.ToUpper(id) + "0", "urn:uuid:" + id, "{" + id + "}", strings.ReplaceAll(id, "-", ""), "%00"} {
		h.partner().get(transactions+"/"+bad).want(404, "")
	}
	h.partner().get(transactions+"/"+strings.ToUpper(id)).want(200, "")
}

// refusing answers every create with an error.
type refusing struct {
	api.Payments
	err   error
	panic any
}

// Create implements api.Payments.
func (r refusing) Create(paymentactor.Create) (paymentactor.Result, error) {
	if r.panic != nil {
		panic(r.panic)
	}
	return paymentactor.Result{}, r.err
}

func TestErrorsOfTheServiceAreAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		payments api.Payments
		status   int
		body     string
		logged   bool
	}{
		{refusing{err: ledger.Refuse("op", ledger.Unavailable, "the writer's queue is full")}, 503, `{"error":"unavailable","message":"the writer's queue is full"}`, false},
		{refusing{err: errors.New("secret words")}, 500, `{"error":"internal","message":"something went wrong on our side"}`, true},
		{refusing{panic: "CANARY 4242424242424242"}, 500, `{"error":"internal","message":"something went wrong on our side"}`, true},
		{refusing{err: ledger.Refuse("op", ledger.Conflict, "busy")}, 409, `{"error":"conflict","message":"busy"}`, false},
	} {
		h := open(t, func(cfg *api.Config) { cfg.Payments = c.payments })
		a := h.partner().post(transactions, payment(`"amount":"5"`)).want(c.status, c.body)
		if c.status == 503 && a.header.Get("retry-after") == "" {
			t.Error("503 without Retry-After")
		}
		log := h.log.String()
		if strings.Contains(log, a.header.Get("x-request-id")) != c.logged || a.header.Get("x-request-id") == "" {
			t.Errorf("%d: logged %q", c.status, log)
		}
		if strings.Contains(log, "CANARY") || strings.Contains(log, "4242424242424242") {
			t.Errorf("the log holds what was sent: %s", log)
		}
		h.anyone().get("/api/v1/health").want(200, "") // it goes on
	}
}

func TestPanicsInTheRuntimeAreLoggedWithTheirStack(t *testing.T) {
	t.Parallel()
	h := open(t, func(cfg *api.Config) { cfg.Payments = nil })
	h.partner().post(transactions, payment(`"amount":"5"`)).want(500, "")
	if log := h.log.String(); !strings.Contains(log, "nil pointer dereference") || !strings.Contains(log, "createTransaction") {
		t.Errorf("log %q", log)
	}
}

func TestAnswersAreObserved(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.partner().post(transactions, payment(`"amount":"5"`))
	h.partner().get(transactions + "/" + uuid.NewString())
	h.anyone().get("/nothing/here")
	for _, want := range []string{transactions + " POST 201", transactions + "/:id GET 404", "none GET 404"} {
		if got := <-h.observed; got != want {
			t.Errorf("observed %q, want %q", got, want)
		}
	}
}

func TestManyPaymentsBalance(t *testing.T) {
	t.Parallel()
	h := open(t)
	var all sync.WaitGroup
	const n = 40
	for i := range n {
		all.Go(func() {
			h.partner().post(transactions, payment(fmt.Sprintf(`"amount":"%d","currency":"CHF","txid":"t%d"`, i+1, i))).want(201, "")
		})
	}
	all.Wait()
	account := h.auditor().get("/api/v1/ledger/accounts/L:partner:1:available?currency=CHF&env=test")
	if got, want := account.at("data.0.balance"), fmt.Sprint(100_000_000+n*(n+1)/2); got != want {
		t.Errorf("balance %s, want %s", got, want)
	}
}

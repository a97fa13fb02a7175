package conformance_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Tests of the effects of a terminal's settings on transactions, and of the choice of a terminal.

// terminalUsed makes a payment and returns its terminal, as T1, T2…
func (m *merchant) terminalUsed(p params) string {
	m.t.Helper()
	entries := m.entries(m.create(p).has("status", "charged").at("id"))
	_, rest, _ := strings.Cut(entries[len(entries)-1], "A:provider:")
	terminal, _, _ := strings.Cut(rest, " ")
	return terminal
}

func (m *merchant) wantTerminal(want string, p params) {
	m.t.Helper()
	if got := m.terminalUsed(p); got != want {
		m.t.Errorf("%v went through %s, want %s", p, got, want)
	}
}

func TestLowestPriorityNumberIsTriedFirst(t *testing.T) {
	m := newMerchant(t)
	m.addTerminal("payment", `{"priority":2}`)
	m.addTerminal("payment", `{"priority":-1}`)
	m.addTerminal("payment", `{}`)
	m.wantTerminal("T2", payment(good))
}

func TestEqualPriorityTriesTheLowestIDFirst(t *testing.T) {
	merchant := newMerchant(t)
	for range 4 {
		merchant.addTerminal("payment", `{}`)
	}
	lowest := 0
	for i, id := range merchant.terminals {
		if id < merchant.terminals[lowest] {
			lowest = i
		}
	}
	merchant.wantTerminal(fmt.Sprintf("T%d", lowest+1), payment(good))
}

func TestTerminalAcceptsItsCurrenciesNetworksAndMethods(t *testing.T) {
	m := newMerchant(t)
	m.addTerminal("payment", `{"priority":1,"currencies":["EUR","GBP"]}`)
	m.addTerminal("payment", `{"priority":2,"networks":["bsc"],"currencies":["USDT","USDC"]}`)
	m.addTerminal("payment", `{"priority":3,"methods":["e_wallet","voucher"]}`)
	m.addTerminal("payment", `{"priority":4,"currencies":[],"networks":[],"methods":[]}`)
	m.wantTerminal("T1", payment(good, "currency", "GBP"))
	m.wantTerminal("T2", payment(good, "currency", "USDT", "network", "bsc"))
	m.wantTerminal("T3", paymentWith(params{"type": "voucher"}))
	m.wantTerminal("T4", payment(good))
	m.wantTerminal("T4", payment(good, "currency", "USDT", "network", "tron"))
}

func TestTerminalHasOneTypeAndEnv(t *testing.T) {
	m := newMerchant(t)
	m.addTerminal("payout", `{}`)
	m.addTerminal("merchant", `{}`)
	m.create(payment(good)).has("status", "rejected", "error_description", "no terminal available")
	m.addTerminal("payment", `{}`)
	m.create(payment(good, "env", "prod")).has("status", "rejected", "error_description", "no terminal available")
	m.wantTerminal("T3", payment(good))
	admin(t).patch(v1+"/terminal/"+m.terminals[2], `{"is_active":false}`).want(200)
	m.create(payment(good)).has("status", "rejected", "error_description", "no terminal available")
}

func TestTerminalAmountBoundsAreInclusive(t *testing.T) {
	m := newMerchant(t)
	m.addTerminal("payment", `{"min_amount":"100","max_amount":"200"}`)
	for amount, status := range map[string]string{"99": "rejected", "100": "charged", "200": "charged", "201": "rejected"} {
		m.create(payment(good, "amount", amount)).has("status", status)
	}
}

func TestSimulatorTerminalFailsAsConfigured(t *testing.T) {
	for setting, status := range map[string]string{"rejected": "rejected", "failed": "failed", "timeout": "charging"} {
		m := newMerchant(t)
		m.addTerminal("payment", `{"fail":"`+setting+`"}`)
		id := m.create(payment(good)).has("status", status).at("id")
		advance(t, 10)
		if setting == "timeout" {
			status = "charged"
		}
		m.read(id).has("status", status)
	}
}

func TestUnknownOutcomeDoesNotFailOver(t *testing.T) {
	m := newMerchant(t)
	m.addTerminal("payment", `{"priority":1,"fail":"timeout"}`)
	m.addTerminal("payment", `{"priority":2}`)
	id := m.create(payment(good)).has("status", "charging").at("id")
	advance(t, 10)
	m.read(id).has("status", "charged")
	m.wantMoved(id, charge)
	if calls := providerCalls(t, id); len(calls) != 1 {
		t.Errorf("the rail was called %d times", len(calls))
	}
}

func TestRefusedPayoutIsHeldAgainForTheNextTerminal(t *testing.T) {
	m := newMerchant(t)
	m.addTerminal("payment", `{}`)
	m.addTerminal("payout", `{"priority":1,"fail":"rejected"}`)
	m.addTerminal("payout", `{"priority":2,"fee_bps":"1000"}`)
	m.create(payment(good))
	id := m.create(payout(good)).has("status", "charged", "amount_dest", "900").at("id")
	const first = "Dr L:partner:P:available 1000 USD, Cr A:provider:T2 1000 USD"
	const second = "Dr L:partner:P:available 1000 USD, Cr A:provider:T3 900 USD, Cr I:fees 100 USD"
	m.wantMoved(id, "authorise pending: "+first, "reroute void: "+first, "authorise pending: "+second, "settle capture: "+second)
	m.wantBalance("USD", "0 0")
}

func TestLastTerminalsRefusalIsTheReason(t *testing.T) {
	m := newMerchant(t)
	m.addTerminal("payment", `{"priority":1,"fail":"rejected"}`)
	m.addTerminal("payment", `{"priority":2}`)
	id := m.create(payment(declined)).has("status", "rejected", "error_code", "card_declined").at("id")
	if calls := providerCalls(t, id); len(calls) != 2 {
		t.Errorf("the rail was called %d times, want once a terminal", len(calls))
	}
}

func TestHoldLastsSevenDaysByDefault(t *testing.T) {
	for settings, ttl := range map[string]time.Duration{
		`{"two_phase":true}`: 7 * 24 * time.Hour, `{"two_phase":true,"hold_ttl_seconds":60}`: time.Minute,
	} {
		r := newMerchantWithTerminals(t, settings).create(payment(good)).has("status", "payment_suspended")
		if held := r.time("hold_expires_at").Sub(r.time("started")); held.Round(time.Second) != ttl {
			t.Errorf("%s holds for %v, want %v", settings, held, ttl)
		}
	}
}

func TestSecretsOfATerminalAreNeverShown(t *testing.T) {
	m := newMerchant(t)
	r := admin(t).post(v1+"/terminal", `{"name":"N","partner_id":`+m.number+`,"provider":"simulator","type":"payment","env":"test","merchant_params":`+
		`{"notify_url":"https://shop.example/hook","secret":"CANARY-1","secret_previous":"CANARY-2","tg_ids_to_notify":[1,"2"],`+
		`"emails_to_notify":["a@example.com"],"large_transaction_threshold":"100000"}}`).want(201)
	terminal := admin(t).get(v1+"/terminal/"+r.at("data.id")).want(200).has("data.merchant_params.notify_url", "https://shop.example/hook").
		hasRaw("data.merchant_params.tg_ids_to_notify", `[1,"2"]`, "data.merchant_params.large_transaction_threshold", `"100000"`)
	if strings.Contains(r.body+terminal.body+testServer(t).Stderr(), "CANARY") {
		t.Errorf("a secret is shown: %s %s", r.body, terminal.body)
	}
}

func TestFeeIsTheFlooredPercentagePlusTheFixedPart(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"fee_bps":"33","fee_fixed":"3"}`)
	id := m.create(payment(good, "amount", "999")).has("merchant_amount", "993").at("id") // 3.2967 rounded down, plus 3
	m.wantMoved(id, "settle posted: Dr A:provider:T1 999 USD, Cr L:partner:P:available 993 USD, Cr I:fees 6 USD")
}

func TestFeeAboveTheAmountIsOwed(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"fee_fixed":"150"}`)
	id := m.create(payment(good, "amount", "100")).has("status", "charged", "merchant_amount", "-50", "amount_dest", "0").at("id")
	m.wantMoved(id, "settle posted: Dr A:provider:T1 100 USD, Dr A:partner:P:receivable 50 USD, Cr I:fees 150 USD")
	m.wantBalance("USD", "0 0")
	next := m.create(payment(good, "amount", "400")).has("merchant_amount", "250").at("id")
	m.wantMoved(next, "settle posted: Dr A:provider:T1 400 USD, Cr L:partner:P:available 200 USD, Cr A:partner:P:receivable 50 USD, Cr I:fees 150 USD")
	m.wantBalance("USD", "200 0")
}

func TestPayoutFeeMustLeaveAPositiveAmount(t *testing.T) {
	m := newMerchant(t)
	m.addTerminal("payment", `{}`)
	m.addTerminal("payout", `{"fee_fixed":"100"}`)
	m.create(payment(good))
	m.create(payout(good, "amount", "100")).has("status", "rejected", "error_description", "fee exceeds amount")
	m.create(payout(good, "amount", "101")).has("status", "charged", "amount_dest", "1")
	m.wantBalance("USD", "899 0")
}

func TestPayoutIsHeldBeforeTheProviderIsCalled(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	m.create(payment(good))
	id := m.create(payout(delayed, "amount", "600")).has("status", "charging").at("id")
	m.wantBalance("USD", "400 0")
	m.create(payout(good, "amount", "401")).has("status", "rejected", "error_description", "insufficient balance")
	advance(t, 5)
	m.read(id).has("status", "charged")
	m.wantBalance("USD", "400 0")
}

func TestPayoutBeyondTheBalanceReachesNoProvider(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	m.create(payment(good))
	id := m.create(payout(good, "amount", "1001")).has("status", "rejected", "error_description", "insufficient balance").at("id")
	m.wantMoved(id)
	if calls := providerCalls(t, id); len(calls) != 0 {
		t.Errorf("the rail was called: %v", calls)
	}
	m.wantBalance("USD", "1000 0")
}

func TestOverdraftLetsABalanceGoBelowZero(t *testing.T) {
	m := newMerchant(t, "overdraft_limit", []params{{"currency": "USD", "env": "test", "amount": "300"}})
	m.addTerminal("payout", `{}`)
	m.create(payout(good, "amount", "301")).has("status", "rejected", "error_description", "insufficient balance")
	m.create(payout(good, "amount", "300")).has("status", "charged")
	m.wantBalance("USD", "-300 0")
}

func TestNoTerminalIsReportedBeforeNoFunds(t *testing.T) {
	m := newMerchant(t)
	m.create(payout(good)).has("status", "rejected", "error_description", "no terminal available")
	m.addTerminal("payout", `{}`)
	m.create(payout(good)).has("status", "rejected", "error_description", "insufficient balance")
}

func TestConversionDeductsTheFeeFirst(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{"fee_bps":"1000","settlement_currency":"USDC","settlement_network":"solana"}`)
	setRate(t, "UAH", "USDC", "0.0251")
	// 10.00 UAH less a fee of 1.00 is 9.00 UAH. Times 0.0251 this is 0.2259 USDC, and USDC has six
	// decimals.
	id := merchant.create(payment(good, "currency", "UAH")).has("merchant_amount", "900", "amount_dest", "225900", "currency_dest", "USDC").at("id")
	merchant.wantMoved(id, "settle posted: Dr A:provider:T1 1000 UAH, Cr Q:fx_position 900 UAH, Dr Q:fx_position 225900 USDC, "+
		"Cr L:partner:P:available 225900 USDC, Cr I:fees 100 UAH")
	merchant.wantBalance("USDC", "225900 0")
	merchant.wantBalance("UAH", "0 0")
	setRate(t, "UAH", "USDC", "0.5")
	merchant.refund(id, "").want(200).has("status", "refunded", "currency_rate", "0.0251")
}

func TestPayoutIsConverted(t *testing.T) {
	m := newMerchant(t)
	m.addTerminal("payment", `{}`)
	m.addTerminal("payout", `{"settlement_currency":"AZN","fee_bps":"500"}`)
	setRate(t, "EUR", "AZN", "1.98")
	m.create(payment(good, "currency", "EUR"))
	id := m.create(payout(good, "currency", "EUR")).has("status", "charged", "currency_dest", "AZN", "amount_dest", "1881").at("id")
	const lines = "Dr L:partner:P:available 1000 EUR, Cr Q:fx_position 950 EUR, Dr Q:fx_position 1881 AZN, Cr A:provider:T2 1881 AZN, Cr I:fees 50 EUR"
	m.wantMoved(id, "authorise pending: "+lines, "settle capture: "+lines)
}

func TestWithoutARateNothingIsConverted(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"settlement_currency":"IDR"}`)
	m.create(payment(good, "currency", "RUBT")).has("status", "rejected", "error_description", "no exchange rate")
}

func TestIdlePayerIsRejectedAfter30Minutes(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	merchant.create(payment(good))
	waiting := []string{
		merchant.create(payment(redirected)).at("id"), merchant.create(payment(password)).at("id"), merchant.create(paymentWith(params{"type": "sbp"})).at("id"),
		merchant.create(payout(good, "money_storage", params{"type": "sepa"})).has("status", "action_required").at("id"),
		merchant.create(hosted()).at("id"),
	}
	merchant.wantBalance("USD", "0 0")
	advance(t, 30*60-1)
	for _, id := range waiting {
		if status := merchant.read(id).at("status"); status != "action_required" && status != "created" {
			t.Errorf("before its time is over it is %s", status)
		}
	}
	advance(t, 1)
	for _, id := range waiting {
		merchant.read(id).has("status", "rejected", "error_description", "payer action expired").matches("finished", instant)
	}
	merchant.wantBalance("USD", "1000 0")
}

// When the payer's time has ended, the payer's page says so, and so do the responses to a continue request and to the submission
// of material (the payer's authentication data).
func TestAllResponsesReportThePayersTimeout(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	merchant.create(payment(good))
	otp, host := merchant.create(payment(password)), merchant.create(hosted())
	bank := merchant.create(payout(good, "money_storage", params{"type": "sepa"})).has("status", "action_required")
	advance(t, 30*60)
	const timeIsOver = "the payer's time is over"
	merchant.submit(otp.at("id"), params{"otp": "123456"}).want(422).has("error", "expired", "message", timeIsOver)
	merchant.choose(bank.at("id"), "sim-bank-1").want(422).has("error", "expired", "message", timeIsOver)
	merchant.continueWith(host.at("id"), params{"money_storage": card(good)}).want(422).has("errors.0.code", "flow_not_continuable", "errors.0.detail", timeIsOver)
	for _, a := range []*response{otp, bank, host} {
		merchant.read(a.at("id")).has("status", "rejected", "error_code", "payer_action_expired", "simple_auth_redirect_url", absent, "availble_destinations", absent).hasRaw("widget_url", "null")
	}
	for _, address := range []string{otp.at("simple_auth_redirect_url"), bank.at("simple_auth_redirect_url"), host.at("widget_url")} {
		payer{t}.open(address).want(410)
	}
}

func TestCreateWaitsForTheFirstOutcome(t *testing.T) {
	m := sandboxMerchant(t)
	for number, status := range map[string]string{good: "charged", declined: "rejected", delayed: "charging", silent: "charging", redirected: "action_required"} {
		m.create(payment(number)).has("status", status)
	}
}

func TestRetrievalReferenceNumberHas12Digits(t *testing.T) {
	a := sandboxMerchant(t).create(payment(good)).matches("rrn", digits)
	if n := len(a.at("rrn")); n != 12 {
		t.Errorf("it has %d", n)
	}
}

package conformance_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Tests of settlements with the merchant's bank and with providers.

// bankSettlement returns the body of a settlement of 6.00 USD with the merchant's bank.
func bankSettlement(direction, reference string, more ...any) params {
	return params{"direction": direction, "amount": "600", "currency": "USD", "env": "test", "reference": reference}.with(more...)
}

// settleWithBank requests a settlement with the merchant's bank.
func (m *merchant) settleWithBank(p params) *response {
	m.t.Helper()
	return admin(m.t).post(v1+"/partners/"+m.number+"/settlements", p)
}

// providerSettlement returns the body of a settlement of 10.00 USD with a provider, which deducts a fee of
// 0.30 USD.
func providerSettlement(reference string, more ...any) params {
	return params{"gross": "1000", "fee": "30", "currency": "USD", "env": "test", "reference": reference}.with(more...)
}

// settleWithProvider requests a settlement with the provider of the merchant's terminal.
func (m *merchant) settleWithProvider(terminal string, p params) *response {
	m.t.Helper()
	return admin(m.t).post(v1+"/terminal/"+terminal+"/settlements", p)
}

// balanceOf returns an account's balance in USD in env test.
func balanceOf(t testing.TB, path string) string {
	t.Helper()
	r := auditor(t).get(v1 + "/ledger/accounts?env=test&currency=USD&prefix=" + path).want(200)
	if r.rawAt("data") == "[]" {
		return "0"
	}
	return r.at("data.0.balance")
}

func TestSettlementWithTheMerchantsBankIsBooked(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	merchant.create(payment(good))
	out := merchant.settleWithBank(bankSettlement("out", "wire 1")).want(201).matches("data.id", uuid4).matches("data.created_at", instant).matches("data.seq", digits).has(
		"data.partner_id", merchant.number, "data.direction", "out", "data.amount", "600", "data.currency", "USD", "data.network", "",
		"data.env", "test", "data.reference", "wire 1",
	)
	merchant.wantMoved(out.at("data.id"), "settle posted: Dr L:partner:P:available 600 USD, Cr A:bank 600 USD")
	merchant.wantBalance("USD", "400 0")
	payIn := merchant.settleWithBank(bankSettlement("in", "wire 2", "amount", "50")).want(201).has("data.direction", "in")
	merchant.wantMoved(payIn.at("data.id"), "settle posted: Dr A:bank 50 USD, Cr L:partner:P:available 50 USD")
	merchant.wantBalance("USD", "450 0")
	entry := auditor(t).get(v1 + "/ledger/entries/" + out.at("data.seq")).want(200)
	entry.has("data.source", out.at("data.id"), "data.booked_at", out.at("data.created_at"))
	admin(t).get(v1+"/settlements/"+out.at("data.id")).wantBody(200, out.body)
}

func TestSettlementOutIsLimitedToTheAvailableBalance(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	m.create(payment(good))
	m.create(payout(delayed, "amount", "300")).has("status", "charging")
	m.settleWithBank(bankSettlement("out", "too much", "amount", "701")).refuses("amount", "is more than what is available")
	m.wantBalance("USD", "700 0")
	m.settleWithBank(bankSettlement("out", "too much", "amount", "700")).want(201) // a refused settlement has not used its reference
	m.wantBalance("USD", "0 0")
	m.settleWithBank(bankSettlement("out", "prod", "amount", "1", "env", "prod")).refuses("amount", "is more than what is available")
	advance(t, 5)
}

func TestOverdraftCanBeSettledOut(t *testing.T) {
	m := newMerchant(t, "overdraft_limit", []params{{"currency": "USD", "env": "test", "amount": "300"}})
	m.settleWithBank(bankSettlement("out", "1", "amount", "301")).refuses("amount", "is more than what is available")
	m.settleWithBank(bankSettlement("out", "2", "amount", "300")).want(201)
	m.wantBalance("USD", "-300 0")
	m.settleWithBank(bankSettlement("out", "3", "amount", "1")).refuses("amount", "is more than what is available")
}

func TestSettlementInPaysDebtFirst(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"fee_fixed":"150"}`)
	m.create(payment(good, "amount", "100")).has("merchant_amount", "-50")
	first := m.settleWithBank(bankSettlement("in", "1", "amount", "20")).want(201).at("data.id")
	m.wantMoved(first, "settle posted: Dr A:bank 20 USD, Cr A:partner:P:receivable 20 USD")
	m.wantBalance("USD", "0 0")
	secondID := m.settleWithBank(bankSettlement("in", "2", "amount", "40")).want(201).at("data.id")
	m.wantMoved(secondID, "settle posted: Dr A:bank 40 USD, Cr L:partner:P:available 10 USD, Cr A:partner:P:receivable 30 USD")
	m.wantBalance("USD", "10 0")
}

func TestSettlementReferenceIsUsedOnce(t *testing.T) {
	merchant, otherMerchant := newMerchantWithTerminals(t, `{}`), newMerchant(t)
	first := merchant.settleWithBank(bankSettlement("in", "wire")).want(201).hasHeader("x-idempotent-replay", absent)
	merchant.settleWithBank(bankSettlement("in", "wire")).wantBody(201, first.body).hasHeader("x-idempotent-replay", "true")
	merchant.settleWithBank(bankSettlement("in", "wire", "network", "")).wantBody(201, first.body)
	for _, p := range []params{
		bankSettlement("out", "wire"), bankSettlement("in", "wire", "amount", "601"), bankSettlement("in", "wire", "currency", "EUR"), bankSettlement("in", "wire", "env", "prod"),
	} {
		merchant.settleWithBank(p).want(409).has("error", "conflict", "message", "the reference was used for another settlement")
	}
	merchant.wantBalance("USD", "600 0")
	otherMerchant.settleWithBank(bankSettlement("in", "wire")).want(201).hasHeader("x-idempotent-replay", absent)
	merchant.settleWithProvider(merchant.terminals[0], providerSettlement("wire")).want(201).hasHeader("x-idempotent-replay", absent)
	merchant.settleWithProvider(merchant.terminals[1], providerSettlement("wire")).want(201).hasHeader("x-idempotent-replay", absent)
	merchant.settleWithProvider(merchant.terminals[1], providerSettlement("wire", "fee", "31")).want(409).has("error", "conflict")
	// After the whole balance has been settled out, a request with the same reference still returns this
	// settlement.
	payout := merchant.settleWithBank(bankSettlement("out", "all of it")).want(201)
	merchant.settleWithBank(bankSettlement("out", "all of it")).wantBody(201, payout.body).hasHeader("x-idempotent-replay", "true")
	merchant.wantBalance("USD", "0 0")
}

func TestConcurrentSettlementsWithOneReferenceAreBookedOnce(t *testing.T) {
	merchant := newMerchant(t)
	responses := make([]*response, 64)
	var wg sync.WaitGroup
	for i := range responses {
		wg.Go(func() { responses[i] = merchant.settleWithBank(bankSettlement("in", "one")) })
	}
	wg.Wait()
	booked := 0
	for _, a := range responses {
		if a.want(201).body != responses[0].body {
			t.Errorf("%s, and %s", a.body, responses[0].body)
		}
		if a.header.Get("x-idempotent-replay") == "" {
			booked++
		}
	}
	if booked != 1 {
		t.Errorf("%d of 64 were booked", booked)
	}
	merchant.wantMoved(responses[0].at("data.id"), "settle posted: Dr A:bank 600 USD, Cr L:partner:P:available 600 USD")
	merchant.wantBalance("USD", "600 0")
}

func TestConcurrentSettlementsOutNeverExceedTheBalance(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	merchant.create(payment(good))
	responses := make([]*response, 16)
	var wg sync.WaitGroup
	for i := range responses {
		wg.Go(func() { responses[i] = merchant.settleWithBank(bankSettlement("out", fmt.Sprint(i), "amount", "300")) })
	}
	wg.Wait()
	booked := 0
	for _, a := range responses {
		if a.status == 201 {
			booked++
		} else {
			a.refuses("amount", "is more than what is available")
		}
	}
	if booked != 3 {
		t.Errorf("%d times 300 were taken of 1000", booked)
	}
	merchant.wantBalance("USD", "100 0")
}

func TestSettlementWithAProviderIsBooked(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	merchant.create(payment(good))
	terminal := merchant.terminals[0]
	if owed := balanceOf(t, "A:provider:"+terminal); owed != "1000" {
		t.Fatalf("the provider owes %s", owed)
	}
	r := merchant.settleWithProvider(terminal, providerSettlement("week 36", "gross", "900")).want(201).matches("data.id", uuid4).matches("data.created_at", instant).has(
		"data.partner_id", merchant.number, "data.terminal_id", terminal, "data.gross", "900", "data.fee", "30", "data.net", "870",
		"data.currency", "USD", "data.network", "", "data.env", "test", "data.reference", "week 36",
	)
	merchant.wantMoved(r.at("data.id"), "settle posted: Dr A:bank 870 USD, Dr E:provider_fees 30 USD, Cr A:provider:T1 900 USD")
	free := merchant.settleWithProvider(terminal, providerSettlement("week 37", "gross", "60", "fee", "0")).want(201).has("data.net", "60").at("data.id")
	merchant.wantMoved(free, "settle posted: Dr A:bank 60 USD, Cr A:provider:T1 60 USD")
	feeOnly := merchant.settleWithProvider(terminal, providerSettlement("week 38", "gross", "40", "fee", "40")).want(201).has("data.net", "0").at("data.id")
	merchant.wantMoved(feeOnly, "settle posted: Dr E:provider_fees 40 USD, Cr A:provider:T1 40 USD")
	if owed := balanceOf(t, "A:provider:"+terminal); owed != "0" {
		t.Errorf("in the end it owes %s", owed)
	}
	merchant.wantBalance("USD", "1000 0") // the merchant's balance does not change
	merchant.settleWithProvider(terminal, providerSettlement("x", "fee", "1001")).refuses("fee", "is above gross")
	merchant.settleWithProvider(terminal, providerSettlement("x", "env", "prod")).refuses("env", "must be the terminal's: test")
	merchant.settleWithProvider(terminal, providerSettlement("x", "env", absent)).refuses("env", "must be the terminal's: test")
	admin(t).get(v1+"/settlements/"+r.at("data.id")).wantBody(200, r.body)
	notifies := merchant.addTerminal("merchant", `{}`)
	merchant.settleWithProvider(notifies, providerSettlement("x")).want(409).has("error", "conflict")
}

func TestFieldsOfASettlementAreChecked(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	for _, c := range []struct {
		name          string
		value         any
		field, detail string
	}{
		{"direction", absent, "direction", "direction must be in or out"},
		{"direction", "up", "direction", "direction must be in or out"},
		{"direction", "IN", "direction", "direction must be in or out"},
		{"direction", 1, "direction", "direction must be a string"},
		{"amount", absent, "amount", "amount is required"},
		{"amount", 600, "amount", "amount must be a string of minor units"},
		{"amount", "0", "amount", "amount must be greater than zero"},
		{"amount", "-1", "amount", "amount must be a string of digits without leading zeros"},
		{"amount", "6.00", "amount", "amount must be a string of digits without leading zeros"},
		{"amount", "1" + strings.Repeat("0", 71) + "1", "amount", "is out of range"},
		{"amount", "1" + strings.Repeat("0", 78), "amount", "amount is above 2^256 - 1"},
		{"currency", absent, "currency", "currency is required"},
		{"currency", "JPY", "currency", "unsupported currency JPY"},
		{"currency", 840, "currency", "unsupported currency 840"},
		{"currency", "USDT", "network", "is required: USDT is on several networks"},
		{"network", 5, "network", "network must be a string"},
		{"network", "TRON!", "network", "is not a network's name"},
		{"env", "live", "env", "env must be prod or test"},
		{"env", 1, "env", "env must be a string"},
		{"reference", absent, "reference", "reference is required"},
		{"reference", 7, "reference", "reference must be a string"},
		{"reference", "", "reference", "must not be empty"},
		{"reference", strings.Repeat("я", 256), "reference", "is longer than 255 characters"},
		{"reference", "a\tb", "reference", "holds characters that can't be shown"},
	} {
		merchant.settleWithBank(bankSettlement("in", "checked").with(c.name, c.value)).refuses(c.field, c.detail)
	}
	for _, c := range []struct {
		name          string
		value         any
		field, detail string
	}{
		{"gross", absent, "gross", "gross is required"},
		{"gross", "0", "gross", "gross must be greater than zero"},
		{"gross", "1" + strings.Repeat("0", 71) + "1", "gross", "is out of range"},
		{"fee", absent, "fee", "fee is required"},
		{"fee", 0, "fee", "fee must be a string of minor units"},
		{"fee", "-1", "fee", "fee must be a string of digits without leading zeros"},
		{"reference", absent, "reference", "reference is required"},
	} {
		merchant.settleWithProvider(merchant.terminals[0], providerSettlement("checked").with(c.name, c.value)).refuses(c.field, c.detail)
	}
	if rows := admin(t).get(v1 + "/partners/" + merchant.number + "/settlements?env=test").want(200).column("id"); len(rows) != 0 {
		t.Errorf("what was refused is there: %v", rows)
	}
	merchant.settleWithBank(bankSettlement("in", strings.Repeat("я", 255), "amount", "1"+strings.Repeat("0", 72), "currency", "USDT", "network", "")).want(201).has("data.network", "")
	merchant.settleWithBank(bankSettlement("in", "eth", "currency", "ETH")).want(201).has("data.network", "ethereum")
	merchant.settleWithBank(params{"params": bankSettlement("in", "bare", "env", absent)}).want(201).has("data.env", "prod")
}

func TestSettlementsAreListedNewestFirst(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	var ids []string
	for i := range 5 {
		ids = append([]string{merchant.settleWithBank(bankSettlement("in", fmt.Sprint(i))).want(201).at("data.id")}, ids...)
	}
	prod := merchant.settleWithBank(bankSettlement("in", "prod", "env", "prod")).want(201).at("data.id")
	var collected []string
	for i := range 4 { // the amounts go to two terminals in turn
		id := merchant.settleWithProvider(merchant.terminals[i%2], providerSettlement(fmt.Sprint(i))).want(201).at("data.id")
		if i%2 == 0 {
			collected = append([]string{id}, collected...)
		}
	}
	partnerPath, providerPath := v1+"/partners/"+merchant.number+"/settlements", v1+"/terminal/"+merchant.terminals[0]+"/settlements"
	for path, want := range map[string][]string{partnerPath + "?env=test": ids, partnerPath: {prod}, partnerPath + "?env=prod": {prod}, providerPath + "?env=test": collected, providerPath: nil} {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		var got []string
		for cursor := ""; ; {
			r := admin(t).get(path+separator+"limit=2"+cursor).want(200).has("cursor.cursor_field", "created_at")
			got = append(got, r.column("id")...)
			next := r.rawAt("cursor.cursor_value")
			if next == "null" {
				break
			}
			cursor = "&cursor=" + strings.ReplaceAll(r.at("cursor.cursor_value"), "+", "%2B")
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	for query, field := range map[string]string{"limit=0": "limit", "limit=501": "limit", "cursor=x": "cursor", "env=live": "env", "page=1": "page", "terminal_id=1": "terminal_id"} {
		admin(t).get(partnerPath+"?"+query).want(422).has("errors.0.field", field)
		admin(t).get(providerPath+"?"+query).want(422).has("errors.0.field", field)
	}
}

func TestSettlementsBelongToOneOrganization(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	id := merchant.settleWithBank(bankSettlement("in", "1")).want(201).at("data.id")
	otherAdmin := admin(t).with("x-organization-id", testServer(t).Sandbox.Second.OrganizationID)
	otherAdmin.get(v1 + "/settlements/" + id).want(404)
	otherAdmin.get(v1 + "/partners/" + merchant.number + "/settlements").want(404)
	otherAdmin.get(v1 + "/terminal/" + merchant.terminals[0] + "/settlements").want(404)
	otherAdmin.post(v1+"/partners/"+merchant.number+"/settlements", bankSettlement("in", "1")).want(404)
	otherAdmin.post(v1+"/terminal/"+merchant.terminals[0]+"/settlements", providerSettlement("1")).want(404)
	admin(t).get(v1 + "/settlements/" + merchant.terminals[0]).want(404)
	admin(t).post(v1+"/partners/987654321/settlements", bankSettlement("in", "1")).want(404)
	for _, c := range []caller{merchant.caller, auditor(t), anyone(t)} {
		for _, path := range []string{"/settlements/" + id, "/partners/" + merchant.number + "/settlements", "/terminal/" + merchant.terminals[0] + "/settlements"} {
			if r := c.get(v1 + path); r.status != 401 && r.status != 403 {
				t.Errorf("%s: %d %s", path, r.status, r.body)
			}
		}
	}
	merchant.wantBalance("USD", "600 0")
}

func TestSandboxOpeningBalanceIsASettlement(t *testing.T) {
	m := sandboxMerchant(t)
	opening := auditor(t).get(v1 + "/ledger/entries?env=test&event=settle&limit=500&account=A:bank")
	ids := opening.want(200).column("source")
	r := admin(t).get(v1+"/settlements/"+ids[len(ids)-1]).want(200).has("data.partner_id", m.number, "data.direction", "in",
		"data.reference", "sandbox-opening-balance", "data.amount", absent, "data.lines.0.amount", "100000000", "data.lines.0.currency", "RUB", "data.lines.0.env", "prod")
	if !strings.Contains(r.body, `"currency":"ETH","network":"ethereum","env":"test"`) {
		t.Errorf("%s", r.body)
	}
	m.settleWithBank(bankSettlement("in", "sandbox-opening-balance")).want(409).has("error", "conflict")
}

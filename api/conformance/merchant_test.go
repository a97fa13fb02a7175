package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The sandbox's cards.
const (
	good          = "4242424242424242"
	anotherGood   = "5555555555554444"
	declined      = "4000000000000002"
	noFunds       = "4000000000009995"
	expired       = "4000000000000069"
	processing    = "4000000000000119"
	redirected    = "4000000000003220" // the payer is redirected to the provider
	formRequired  = "4000000000003063" // the payer posts a form to the provider
	password      = "4000002500003155" // the payer must type a one-time password
	delayed       = "4000000000000077"
	silent        = "4000000000000341" // the provider does not respond to the charge
	chargedBack   = "4000000000000259"
	refundRefused = "4000000000005126"
	refundSlow    = "4000000000007726"
)

// canaries are texts that must not be in anything that the server has stored.
var canaries = []string{
	good, anotherGood, declined, noFunds, expired, processing, redirected, formRequired, password, delayed, silent, chargedBack,
	refundRefused, refundSlow, watchedCard, watchedHolder,
}

// merchant is a partner of the first organization, with its key.
type merchant struct {
	caller
	number    string
	terminals []string // ids, in the order of creation
}

var merchantCount atomic.Int64

// newMerchant creates a partner with a key, but without terminals. more has further fields of the partner, as name, value
// pairs.
func newMerchant(t testing.TB, more ...any) *merchant {
	t.Helper()
	n := merchantCount.Add(1)
	fields := params{"name": fmt.Sprintf("Merchant %d", n), "login": fmt.Sprintf("merchant-%d", n), "pass": "a temporary one"}.with(more...)
	number := admin(t).post(v1+"/partners", fields).want(201).at("id")
	return &merchant{caller: keyed(t, newKey(t, number), testServer(t).Sandbox.OrganizationID), number: number}
}

func newKey(t testing.TB, partner string) string {
	t.Helper()
	return admin(t).post(v1+"/api_keys", fmt.Sprintf(`{"name":"shop","partner_id":%s}`, partner)).want(201).at("key")
}

// newMerchantWithTerminals returns a merchant with a terminal for payments and one for payouts,
// both with these provider_params.
func newMerchantWithTerminals(t testing.TB, settings string) *merchant {
	t.Helper()
	m := newMerchant(t)
	m.addTerminal("payment", settings)
	m.addTerminal("payout", settings)
	return m
}

// addTerminal creates a terminal of the merchant in env test and returns its id.
func (m *merchant) addTerminal(kind, settings string) string {
	m.t.Helper()
	id := admin(m.t).post(v1+"/terminal", fmt.Sprintf(
		`{"name":"T%d","partner_id":%s,"provider":"simulator","type":%q,"env":"test","provider_params":%s}`,
		len(m.terminals)+1, m.number, kind, settings)).want(201).at("data.id")
	m.terminals = append(m.terminals, id)
	return id
}

// sandboxMerchant returns the sandbox's first partner, which has terminals and balances for
// everything.
func sandboxMerchant(t testing.TB) *merchant {
	t.Helper()
	s := testServer(t).Sandbox
	return &merchant{caller: keyed(t, s.APIKey, s.OrganizationID), number: fmt.Sprint(s.PartnerID)}
}

// params are the members of the object "params" in a create request.
type params map[string]any

// with returns a copy of the params with other values, given as name, value pairs. The value absent removes a
// param.
func (p params) with(pairs ...any) params {
	merged := maps.Clone(p)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == absent {
			delete(merged, pairs[i].(string))
			continue
		}
		merged[pairs[i].(string)] = pairs[i+1]
	}
	return merged
}

func card(number string) params {
	return params{"type": "bank_card", "cardnumber": number, "cardholder": "JANE DOE", "exp_month": "12", "exp_year": "2099", "cvv": "737"}
}

// The merchant's URLs to which the payer returns at the end.
const (
	returnURL = "https://shop.example/ok"
	failURL   = "https://shop.example/no"
)

// payment returns a server-to-server payment of 10.00 USD in env test.
func payment(number string, more ...any) params {
	return params{
		"type": "payment", "amount": "1000", "currency": "USD", "env": "test", "returnUrl": returnURL, "failUrl": failURL,
		"money_storage": card(number),
	}.with(more...)
}

// paymentWith returns a payment with another money_storage.
func paymentWith(storage params, more ...any) params {
	return payment(good, "money_storage", storage).with(more...)
}

// payout returns a payout of 10.00 USD in env test, with only the number of a card.
func payout(number string, more ...any) params {
	return params{
		"type": "payout", "amount": "1000", "currency": "USD", "env": "test",
		"money_storage": params{"type": "bank_card", "cardnumber": number},
	}.with(more...)
}

// hosted returns a payment whose payer enters the card on the hosted page.
func hosted(more ...any) params {
	return params{"type": "payment", "amount": "1000", "currency": "USD", "env": "test", "hosted": true}.with(more...)
}

// send posts a create request with the params.
func (m *merchant) send(p params) *response {
	m.t.Helper()
	return m.post(transactions, params{"params": p})
}

// create makes a transaction.
func (m *merchant) create(p params) *response {
	m.t.Helper()
	return m.send(p).want(201)
}

// read reads a transaction.
func (m *merchant) read(id string) *response {
	m.t.Helper()
	return m.get(transactions + "/" + id).want(200)
}

// change requests a refund or a cancellation. An empty amount is left out of the request.
func (m *merchant) change(id, kind, amount string) *response {
	m.t.Helper()
	p := params{"type": kind}
	if amount != "" {
		p["amount"] = amount
	}
	return m.put(transactions+"/"+id, params{"params": p})
}

func (m *merchant) refund(id, amount string) *response {
	m.t.Helper()
	return m.change(id, "refund", amount)
}

func (m *merchant) cancel(id string) *response { m.t.Helper(); return m.change(id, "cancel", "") }

// commit captures the hold. An empty amount is left out of the request.
func (m *merchant) commit(id, amount string) *response {
	m.t.Helper()
	p := params{"money_storage_meta": params{}}
	if amount != "" {
		p["amount"] = amount
	}
	return m.post(transactions+"/commit/"+id, params{"params": p})
}

// submit posts material (what a payer enters to authenticate) to the endpoint additional_params_for_auth. The body has the
// material at its top level, without the object "params".
func (m *merchant) submit(id string, material params) *response {
	m.t.Helper()
	return m.post(transactions+"/additional_params_for_auth/"+id, params{"additional_params_for_auth": material})
}

func (m *merchant) choose(id, bank string) *response {
	m.t.Helper()
	return m.post(transactions+"/choose_target_destination/"+id, params{"target_bank_id": bank})
}

func (m *merchant) continueWith(id string, body params) *response {
	m.t.Helper()
	return m.post(transactions+"/continue/"+id, body)
}

// entries returns the entries of a transaction, the oldest first: its events that moved
// money, for example
//
//	settle posted: Dr A:provider:T1 1000 USD, Cr L:partner:P:available 1000 USD
//
// T1 is the merchant's first terminal, P the merchant.
func (m *merchant) entries(id string) []string {
	m.t.Helper()
	var list struct {
		Data []struct {
			Event, Phase string
			Postings     []struct {
				Account, Side, Amount string
				Asset                 struct{ Currency string }
			}
		}
	}
	r := auditor(m.t).get(v1 + "/ledger/entries?env=test&limit=100&source=" + id).want(200)
	if err := json.Unmarshal([]byte(r.body), &list); err != nil {
		m.t.Fatal(err)
	}
	entries := make([]string, 0, len(list.Data))
	for i := len(list.Data) - 1; i >= 0; i-- {
		e := list.Data[i]
		lines := make([]string, len(e.Postings))
		for j, p := range e.Postings {
			side := map[string]string{"debit": "Dr", "credit": "Cr"}[p.Side]
			lines[j] = fmt.Sprintf("%s %s %s %s", side, m.normalizedAccount(p.Account), p.Amount, p.Asset.Currency)
		}
		entries = append(entries, e.Event+" "+e.Phase+": "+strings.Join(lines, ", "))
	}
	return entries
}

// normalizedAccount returns an account's path without the parts that differ from run to run.
func (m *merchant) normalizedAccount(account string) string {
	for i, id := range m.terminals {
		account = strings.ReplaceAll(account, id, fmt.Sprintf("T%d", i+1))
	}
	return strings.Replace(strings.Replace(account, ":partner:"+m.number+":", ":partner:P:", 1), ":suspense:"+m.number, ":suspense:P", 1)
}

// wantMoved checks all entries of a transaction.
func (m *merchant) wantMoved(id string, want ...string) {
	m.t.Helper()
	got := m.entries(id)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		m.t.Errorf("the entries of %s are\n\t%s\nwant\n\t%s", id, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// states returns the successive states of a transaction, without repetitions.
func (m *merchant) states(id string) string {
	m.t.Helper()
	r := auditor(m.t).get(v1 + "/ledger/events?limit=100&source=" + id).want(200)
	states := r.column("to")
	var path []string
	for i := len(states) - 1; i >= 0; i-- {
		if len(path) == 0 || path[len(path)-1] != states[i] {
			path = append(path, states[i])
		}
	}
	return strings.Join(path, " ")
}

// balance returns the merchant's available and pending balance in env test.
func (m *merchant) balance(currency string) string {
	m.t.Helper()
	r := m.get(v1 + "/balances?env=test&currency=" + currency).want(200)
	if r.rawAt("data") == "[]" {
		return "0 0"
	}
	return r.at("data.0.available") + " " + r.at("data.0.pending")
}

// wantBalance checks the available and the pending balance.
func (m *merchant) wantBalance(currency, want string) {
	m.t.Helper()
	if got := m.balance(currency); got != want {
		m.t.Errorf("available and pending %s are %s, want %s", currency, got, want)
	}
}

// clock returns the time of the server's clock.
func clock(t testing.TB) time.Time {
	t.Helper()
	return admin(t).get(v1 + "/sandbox/clock").want(200).time("now")
}

// advance moves the clock. It returns when everything that became due has been done.
func advance(t testing.TB, seconds int) {
	t.Helper()
	admin(t).put(v1+"/sandbox/clock", fmt.Sprintf(`{"advance_seconds":%d}`, seconds)).want(200)
}

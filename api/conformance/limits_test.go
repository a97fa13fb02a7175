package conformance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"mizan/internal/testkit"
)

// Tests of the effects of limits, of the blocklist and of a terminal's circuit breaker on transactions.

// createLimit creates a limit for a partner in USD, in env test, and returns its id.
func (c caller) createLimit(partner, kind string, maximum any, more ...any) string {
	c.t.Helper()
	bound := "max_amount"
	if kind == "velocity" {
		bound = "max_count"
	}
	fields := params{"partner_id": json.Number(partner), "kind": kind, "currency": "USD", "env": "test", bound: maximum}.with(more...)
	return c.post(v1+"/limits", fields).want(201).at("data.id")
}

func (m *merchant) createLimit(kind string, maximum any, more ...any) string {
	m.t.Helper()
	return admin(m.t).createLimit(m.number, kind, maximum, more...)
}

// wantUsage checks a limit's usage. want has the values of used, reserved, remaining and resets_at; if it
// has only three values, resets_at may be any time.
func (c caller) wantUsage(id, want string) {
	c.t.Helper()
	path, query, _ := strings.Cut(id, "?")
	r := c.get(v1 + "/limits/" + path + "/usage?" + query).want(200)
	got := r.at("data.used") + " " + r.at("data.reserved") + " " + r.at("data.remaining")
	if strings.Count(want, " ") == 3 {
		got += " " + r.at("data.resets_at")
	}
	if got != want {
		c.t.Errorf("the usage is %s, want %s", got, want)
	}
}

// wantRejected checks that a create request gets 201 with a rejected transaction and the reason, and that no
// provider was called.
func (m *merchant) wantRejected(p params, reason string) *response {
	m.t.Helper()
	r := m.create(p).has("status", "rejected", "error_description", reason)
	if lines := providerCalls(m.t, r.at("id")); len(lines) != 0 {
		m.t.Errorf("the provider was asked %q", lines)
	}
	return r
}

func (m *merchant) wantCharged(p params) *response {
	m.t.Helper()
	return m.create(p).has("status", "charged", "error_description", "")
}

func TestAmountAboveTheMaximumIsRejected(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.createLimit("per_transaction", "1000")
	m.wantCharged(payment(good))
	r := m.wantRejected(payment(good, "amount", "1001"), "limit exceeded: per_transaction")
	m.wantRejected(payment(good, "amount", "1001"), "limit exceeded: per_transaction")
	admin(t).wantUsage(id, "0 0 1000 null")
	admin(t).get(v1+"/transactions/"+r.at("id")+"/routing").want(200).
		has("data.0.terminal_id", m.terminals[0], "data.0.outcome", "stopped", "data.0.reason", "limit exceeded: per_transaction", "data.1", absent)
	m.wantCharged(payment(good, "amount", "1001", "currency", "EUR")) // this currency has no limit
}

func TestVolumeCountsSettledAndHeldAmounts(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{"two_phase":true}`)
	id := merchant.createLimit("daily_volume", "1000")
	heldID := merchant.create(payment(good, "amount", "900")).has("status", "payment_suspended").at("id")
	admin(t).wantUsage(id, "0 900 100")
	merchant.wantRejected(payment(good, "amount", "101"), "limit exceeded: daily_volume")
	merchant.commit(heldID, "400").want(200)
	admin(t).wantUsage(id, "400 0 600")
	second := merchant.create(payment(good, "amount", "600")).has("status", "payment_suspended").at("id")
	merchant.cancel(second).want(200)
	admin(t).wantUsage(id, "400 0 600")
	merchant.create(payment(declined, "amount", "600")).has("status", "rejected", "error_code", "card_declined")
	admin(t).wantUsage(id, "400 0 600")
	merchant.refund(heldID, "").want(200)
	admin(t).wantUsage(id, "400 0 600") // a refunded amount still counts
	admin(t).patch(v1+"/limits/"+id, `{"max_amount":"300"}`).want(200)
	admin(t).wantUsage(id, "400 0 0")
	admin(t).do("DELETE", v1+"/limits/"+id, nil).want(200)
	merchant.create(payment(good, "amount", "5000")).has("status", "payment_suspended")
}

func TestConcurrentCreatesNeverExceedTheLimits(t *testing.T) {
	for kind, limit := range map[string][]any{"daily_volume": {"30000"}, "monthly_volume": {"30000"}, "velocity": {30, "window", "minute"}} {
		t.Run(kind, func(t *testing.T) {
			m := newMerchantWithTerminals(t, `{}`)
			id := m.createLimit(kind, limit[0], limit[1:]...)
			responses := make([]*response, 100)
			var wg sync.WaitGroup
			for i := range responses {
				wg.Go(func() { responses[i] = m.send(payment(good)) })
			}
			wg.Wait()
			ended := make(map[string]int)
			for _, a := range responses {
				ended[a.want(201).at("status")+" "+a.at("error_description")]++
			}
			if ended["charged "] != 30 || ended["rejected limit exceeded: "+kind] != 70 {
				t.Errorf("they ended %v", ended)
			}
			if kind == "velocity" {
				admin(t).wantUsage(id, "100 0 0")
			} else {
				admin(t).wantUsage(id, "30000 0 0")
			}
		})
	}
}

func TestVelocityLimitCountsAllAttemptsInASlidingWindow(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	id := merchant.createLimit("velocity", 3, "window", "minute")
	hour := merchant.createLimit("velocity", 6, "window", "hour", "currency", absent)
	first := merchant.wantCharged(payment(good, "txid", "once"))
	merchant.create(payment(declined)).has("error_code", "card_declined")
	merchant.send(payment(good, "amount", "0")).want(422) // a request that fails validation does not count as an attempt
	merchant.create(payment(good, "txid", "once")).has("id", first.at("id"))
	advance(t, 30)
	merchant.create(payout(good, "amount", "100000")).has("error_description", "insufficient balance")
	admin(t).wantUsage(id, "3 0 0")
	merchant.wantRejected(payment(good), "limit exceeded: velocity")
	advance(t, 30) // the first two attempts are no longer in the window
	admin(t).wantUsage(id, "2 0 1")
	merchant.wantCharged(payment(good))
	merchant.wantRejected(payment(good), "limit exceeded: velocity")
	admin(t).wantUsage(hour, "6 0 0")
	advance(t, 61)
	merchant.wantRejected(payment(good), "limit exceeded: velocity") // now the limit for an hour refuses the payment
	advance(t, 3600)
	admin(t).wantUsage(hour, "0 0 6 null")
	merchant.wantCharged(payment(good))
}

// A limit may count the transactions of each payer separately: by card, e-mail address or IP address.
func TestScopedLimitAppliesToEachPayer(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	jane, john := params{"email": " Jane@Example.com", "ip": "203.0.113.7"}, params{"email": "john@example.com", "ip": "2001:db8::1"}
	email := merchant.createLimit("daily_volume", "1000", "scope", "email")
	ip := merchant.createLimit("velocity", 3, "window", "hour", "scope", "ip")
	cards := merchant.createLimit("monthly_volume", "3000", "scope", "card")
	first := merchant.wantCharged(payment(good, "customer", jane))
	merchant.wantRejected(payment(good, "customer", params{"email": "jane@example.COM"}), "limit exceeded: daily_volume")
	merchant.wantCharged(payment(good, "customer", john))
	admin(t).wantUsage(email+"?email=jane@example.com", "1000 0 0")
	admin(t).wantUsage(email+"?email=nobody@example.com", "0 0 1000")
	admin(t).wantUsage(ip+"?ip=203.0.113.7", "1 0 2")
	merchant.wantRejected(payment(good, "customer", jane), "limit exceeded: daily_volume")
	merchant.wantRejected(payment(good, "customer", jane), "limit exceeded: daily_volume")
	merchant.wantRejected(payment(good, "customer", params{"ip": "203.0.113.7"}), "limit exceeded: velocity")
	merchant.wantCharged(payment(good, "customer", params{"ip": "::ffff:203.0.113.8"}))
	admin(t).wantUsage(ip+"?ip=203.0.113.8", "1 0 2")
	admin(t).wantUsage(cards+"?transaction_id="+first.at("id"), "3000 0 0")
	merchant.wantRejected(payment(good, "customer", params{"ip": "203.0.113.9"}), "limit exceeded: monthly_volume")
	merchant.wantCharged(payment(anotherGood, "customer", params{"ip": "203.0.113.9"}))
}

func TestLimitOfATerminalOrTypeDoesNotApplyToOthers(t *testing.T) {
	m := newMerchant(t)
	first := m.addTerminal("payment", `{"priority":1,"currencies":["USD"]}`)
	m.addTerminal("payment", `{"priority":2}`)
	m.createLimit("daily_volume", "1000", "terminal_id", first)
	m.createLimit("daily_volume", "1", "type", "payout")
	m.createLimit("daily_volume", "1", "env", "prod")
	m.wantCharged(payment(good))
	m.wantRejected(payment(good), "limit exceeded: daily_volume")
	m.wantCharged(payment(good, "currency", "EUR"))
}

// Limits are applied to a hosted payment when its payer supplies the card.
func TestLimitsApplyToAHostedPaymentOnContinue(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.createLimit("daily_volume", "1000")
	first, second := m.create(hosted()).at("id"), m.create(hosted()).at("id")
	admin(t).wantUsage(id, "0 0 1000")
	m.continueWith(first, params{"money_storage": card(good)}).want(200).has("status", "charged")
	m.continueWith(second, params{"money_storage": card(good)}).want(200).has("status", "rejected", "error_description", "limit exceeded: daily_volume")
	admin(t).wantUsage(id, "1000 0 0")
}

// The checks are, in this order: terminal, blocklist, limits, funds. The first check that fails gives the
// transaction's reason.
func TestRefusalReasonsAreCheckedInOrder(t *testing.T) {
	merchant := newMerchant(t)
	blocked := params{"email": "order@example.com"}
	addToBlocklist(t, "email", "order@example.com")
	merchant.createLimit("daily_volume", "500")
	refused := payout(good, "customer", blocked)
	merchant.wantRejected(refused, "no terminal available")
	merchant.addTerminal("payout", `{}`)
	merchant.wantRejected(refused, "anti-fraud: email")
	merchant.wantRejected(payout(good), "limit exceeded: daily_volume")
	merchant.wantRejected(payout(good, "amount", "500"), "insufficient balance")
	merchant.create(payout(good, "money_storage", absent)).has("error_description", "unexpected card")
}

// addToBlocklist adds a value to the organization's blocklist until the test ends.
func addToBlocklist(t *testing.T, kind, value string) (id string) {
	t.Helper()
	id = admin(t).post(v1+"/blocklist", params{"kind": kind, "value": value}).want(201).at("data.id")
	t.Cleanup(func() { admin(t).do("DELETE", v1+"/blocklist/"+id, nil) })
	return id
}

func TestBlocklistedPayerIsRejectedWithTheEntrysKind(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	for _, c := range []struct {
		kind, value string
		hit, free   params
	}{
		{"bin", "41111111", payment("4111111111111111"), payment(good)},
		{"card", "4012 8888 8888 1881", payment("4012888888881881"), payment(good)},
		{"email", "Eve@Example.com", payment(good, "customer", params{"email": "eve@example.com "}), payment(good, "customer", params{"email": "adam@example.com"})},
		{"phone", "+7 (900) 123-45-67", payment(good, "customer", params{"phone": "0079001234567"}), payment(good, "customer", params{"phone": "79001234568"})},
		{"ip", "198.51.100.0/24", payment(good, "customer", params{"ip": "198.51.100.200"}), payment(good, "customer", params{"ip": "198.51.101.1"})},
		{"country", "kp", payment(good, "customer", params{"country": "KP"}), payment(good, "customer", params{"country": "KR"})},
	} {
		value := strings.ReplaceAll(c.value, " ", "")
		if c.kind == "phone" {
			value = c.value
		}
		id := addToBlocklist(t, c.kind, value)
		merchant.wantRejected(c.hit, "anti-fraud: "+c.kind)
		merchant.wantCharged(c.free)
		admin(t).do("DELETE", v1+"/blocklist/"+id, nil).want(200)
		merchant.wantCharged(c.hit)
	}
	hosted := merchant.create(hosted()).at("id")
	addToBlocklist(t, "card", "4012888888881881")
	merchant.continueWith(hosted, params{"money_storage": card("4012888888881881")}).want(200).has("status", "rejected", "error_description", "anti-fraud: card")
}

func TestLimitRefusalIsInThePartnersLanguage(t *testing.T) {
	m := newMerchant(t, "lang", "ru")
	m.addTerminal("payment", `{}`)
	m.createLimit("per_transaction", "1")
	addToBlocklist(t, "email", "ru@example.com")
	m.wantRejected(payment(good), "превышен лимит: per_transaction")
	m.wantRejected(payment(good, "customer", params{"email": "ru@example.com"}), "отклонено системой защиты от мошенничества: email")
}

// After twenty consecutive charges without a response from a terminal's provider, the next charges use
// another terminal. The service inquires about the twenty charges.
func TestUnresponsiveTerminalIsSkipped(t *testing.T) {
	merchant := newMerchant(t)
	merchant.addTerminal("payment", `{"priority":1,"fail":"timeout"}`)
	merchant.addTerminal("payment", `{"priority":2}`)
	var unknown []string
	for range 20 {
		unknown = append(unknown, merchant.create(payment(good)).has("status", "charging").at("id"))
	}
	admitted := merchant.create(payment(good))
	for admitted.at("status") == "charging" { // half a minute has passed, and one charge was let through as a probe
		unknown = append(unknown, admitted.at("id"))
		admitted = merchant.create(payment(good))
	}
	admitted.has("status", "charged")
	admin(t).get(v1+"/transactions/"+admitted.at("id")+"/routing").want(200).has(
		"data.0.terminal_id", merchant.terminals[0], "data.0.outcome", "skipped", "data.0.reason", "the terminal's circuit is open",
		"data.1.terminal_id", merchant.terminals[1], "data.1.outcome", "accepted", "data.2", absent)
	advance(t, 60)
	for _, id := range unknown {
		merchant.read(id).has("status", "charged")
	}
}

// startOwnServer starts a new server for the test, and returns it with its sandbox's first partner and a
// caller with the admin token.
func startOwnServer(t *testing.T) (s *testkit.Server, m *merchant, administrator caller) {
	s = testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})
	return s, &merchant{caller: caller{t, s.Partner()}, number: fmt.Sprint(s.Sandbox.PartnerID)}, caller{t, s.Admin()}
}

// A limit's days and months are calendar days and months in UTC, by the clock.
func TestVolumesResetAtMidnightAndAtTheEndOfTheMonth(t *testing.T) {
	_, m, administrator := startOwnServer(t)
	to := func(instant string) {
		t.Helper()
		administrator.put(v1+"/sandbox/clock", params{"now": instant}).want(200)
	}
	day, month := administrator.createLimit(m.number, "daily_volume", "1000"), administrator.createLimit(m.number, "monthly_volume", "2500")
	charges := func(amount string) { t.Helper(); m.create(payment(good, "amount", amount)).has("status", "charged") }
	rejects := func(kind string) {
		t.Helper()
		m.create(payment(good, "amount", "1000")).has("status", "rejected", "error_description", "limit exceeded: "+kind)
	}
	to("2030-01-30T23:59:59.999999Z")
	charges("1000")
	rejects("daily_volume")
	administrator.wantUsage(day, "1000 0 0 2030-01-31T00:00:00.000000+00:00")
	to("2030-01-31T03:00:00+03:00")
	administrator.wantUsage(day, "0 0 1000 2030-02-01T00:00:00.000000+00:00")
	charges("1000")
	administrator.wantUsage(month, "2000 0 500 2030-02-01T00:00:00.000000+00:00")
	rejects("daily_volume")
	to("2030-01-31T23:59:59.999999Z")
	rejects("daily_volume")
	to("2030-02-01T00:00:00Z")
	administrator.wantUsage(month, "0 0 2500 2030-03-01T00:00:00.000000+00:00")
	charges("1000")
	to("2030-02-02T00:00:00Z")
	charges("1000")
	to("2030-02-03T00:00:00Z")
	rejects("monthly_volume")
	charges("500")
}

// The server is killed while creates reach the bounds of a volume limit and of a velocity limit. After
// the kill the admitted creates still count, and no further ones are admitted.
func TestLimitsHoldAcrossAKill(t *testing.T) {
	server, merchant, administrator := startOwnServer(t)
	day := administrator.createLimit(merchant.number, "daily_volume", "20000")
	pace := administrator.createLimit(merchant.number, "velocity", 25, "window", "hour", "type", "payout")
	createMany := func(n int, draft func(string, ...any) params) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { _, _ = merchant.client.Post(transactions, params{"params": draft(good)}) })
		}
		wg.Wait()
	}
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		createMany(10, payment)
		server.Kill()
	}()
	createMany(20, payout) // the kill interrupts some of them
	<-killed
	server.Restart()
	merchant.client, administrator.client = server.Partner(), server.Admin()
	createMany(25, payment)
	createMany(45, payout)
	administrator.put(v1+"/sandbox/clock", params{"advance_seconds": 120}).want(200)                           // the server inquires about interrupted calls
	page := administrator.get(v1 + "/transactions?env=test&limit=100&partner_id=" + merchant.number).want(200) // the partner has no other transactions
	ended := make(map[string]int)
	for i, kind := range page.column("type") {
		row := fmt.Sprintf("data.%d.", i)
		ended[kind+" "+page.at(row+"status")+" "+page.at(row+"error_description")]++
	}
	chargedCount, tried := ended["payment charged "]+ended["payout charged "], 0
	for end, n := range ended {
		if strings.HasPrefix(end, "payout ") && !strings.HasSuffix(end, "velocity") {
			tried += n
		}
	}
	if chargedCount > 20 || tried != 25 {
		t.Errorf("%d of 20 were charged, and %d of 25 payouts admitted: %v", chargedCount, tried, ended)
	}
	u := administrator.get(v1 + "/limits/" + day + "/usage").want(200)
	if u.at("data.used") != fmt.Sprint(chargedCount*1000) || u.at("data.reserved") != "0" {
		t.Errorf("%s, %d were charged", u.body, chargedCount)
	}
	if u := administrator.get(v1 + "/limits/" + pace + "/usage").want(200); u.at("data.remaining") != "0" {
		t.Errorf("%s", u.body)
	}
	if code := server.Stop(); code != 0 {
		t.Errorf("the server stopped with %d", code)
	}
	checked := testkit.Run(t, nil, "audit", "verify", "--data", server.Dir)
	if checked.Exit != 0 || slices.Contains(strings.Fields(checked.Stdout), "FAIL") {
		t.Errorf("the books do not hold:\n%s%s", checked.Stdout, checked.Stderr)
	}
}

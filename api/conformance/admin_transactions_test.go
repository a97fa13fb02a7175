package conformance_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// Tests of transactions as the administration and an organization's auditors see them.

// listed returns the ids of the transactions that a list request with this query and the administration token returns.
func listed(t testing.TB, query string) []string {
	t.Helper()
	return admin(t).get(transactions + "?" + query).want(200).column("id")
}

func TestAdminTokenListsAPartnersTransactions(t *testing.T) {
	merchant, other := newMerchantWithTerminals(t, `{}`), newMerchantWithTerminals(t, `{}`)
	first := merchant.create(payment(good)).at("id")
	second := merchant.create(payment(declined)).at("id")
	other.create(payment(good))
	advance(t, 1)
	third := merchant.create(payment(good)).at("id")
	of := "env=test&partner_id=" + merchant.number
	own := merchant.get(transactions + "?env=test").want(200)
	admin(t).get(transactions+"?"+of).wantBody(200, own.body)
	from := url.QueryEscape(own.at("data.0.started"))
	for query, want := range map[string][]string{
		of:                         {third, second, first},
		of + "&status=rejected":    {second},
		of + "&status=charged":     {third, first},
		of + "&from=" + from:       {third},
		of + "&limit=1":            {third},
		of + "&started_to=" + from: {third, second, first},
		of + "&from=" + from + "&started_from=2020-01-01T00:00:00Z": {third},
		"partner_id=" + merchant.number:                             nil, // the default env is prod
	} {
		if got := listed(t, query); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	page := admin(t).get(transactions+"?limit=2&"+of).want(200).has("cursor.cursor_field", "started")
	if rest := listed(t, of+"&cursor="+url.QueryEscape(page.at("cursor.cursor_value"))); strings.Join(rest, " ") != first {
		t.Errorf("after two: %v", rest)
	}
}

func TestAdminTokenListNeedsAPartnerOfTheOrganization(t *testing.T) {
	for query, detail := range map[string]string{
		"":                "partner_id is required",
		"partner_id=":     "partner_id must not be empty",
		"partner_id=x":    "partner_id must be a positive integer",
		"partner_id=0":    "partner_id must be a positive integer",
		"partner_id=01":   "partner_id must be a positive integer",
		"partner_id=-1":   "partner_id must be a positive integer",
		"partner_id=1e3":  "partner_id must be a positive integer",
		"status=rejected": "partner_id is required",
	} {
		admin(t).get(transactions+"?"+query).refuses("partner_id", detail)
	}
	s := testServer(t).Sandbox
	for _, number := range []string{"987654321", fmt.Sprint(s.Second.PartnerID)} {
		admin(t).get(transactions+"?partner_id="+number).want(404).has("error", "not_found")
	}
	there := admin(t).with("x-organization-id", s.Second.OrganizationID)
	there.get(transactions + fmt.Sprintf("?partner_id=%d", s.Second.PartnerID)).want(200)
	admin(t).with("x-organization-id", "").get(transactions+"?partner_id=1").want(422).has("errors.0.field", "x-organization-id")
	admin(t).get(transactions+"?partner_id=1&from=yesterday").refuses("from", "from must be an ISO 8601 time")
	admin(t).get(transactions+"?partner_id=1&from=").refuses("from", "from must not be empty")
	admin(t).get(transactions+"?partner_id=1&to=2026-01-01T00:00:00Z").refuses("to", "Unexpected field")
}

func TestPartnerParameterIsForTheAdminTokenOnly(t *testing.T) {
	m := newMerchant(t)
	m.get(transactions+"?partner_id="+m.number).refuses("partner_id", "Unexpected field")
	m.get(transactions+"?from=2026-01-01T00:00:00Z").refuses("from", "Unexpected field")
	auditor(t).get(transactions + "?partner_id=" + m.number).want(403)
	anyone(t).get(transactions + "?partner_id=" + m.number).want(401)
	bearer(t, "mza_nobody").get(transactions + "?partner_id=" + m.number).want(401)
}

func TestTransactionIsReadableByTheAdministrationAndAuditors(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	r := m.create(payment(good))
	path := transactions + "/" + r.at("id")
	own := m.get(path).want(200)
	for _, c := range []caller{admin(t), auditor(t), bearer(t, testServer(t).Sandbox.SessionToken)} {
		c.get(path).wantBody(200, own.body)
		c.get(transactions + "/" + m.terminals[0]).want(404)
	}
	s := testServer(t).Sandbox
	admin(t).with("x-organization-id", s.Second.OrganizationID).get(path).want(404)
	bearer(t, s.Second.SessionToken).with("x-organization-id", s.Second.OrganizationID).get(path).want(404)
	bearer(t, s.Second.SessionToken).get(path).want(401)
	newMerchant(t).get(path).want(404)
}

// routingRows returns the terminal, outcome and reason of each row of a transaction's routing.
func (m *merchant) routingRows(id string) string {
	m.t.Helper()
	r := auditor(m.t).get(transactions + "/" + id + "/routing").want(200)
	admin(m.t).get(transactions+"/"+id+"/routing").wantBody(200, r.body)
	var rows []string
	for i, terminal := range r.column("terminal_id") {
		row := fmt.Sprintf("data.%d.", i)
		r.matches(row+"at", instant)
		rows = append(rows, fmt.Sprintf("%s %s %s %s", m.normalizedAccount(terminal), r.at(row+"priority"), r.at(row+"outcome"), r.at(row+"reason")))
	}
	return strings.Join(rows, ", ")
}

func (m *merchant) wantRouting(id, want string) {
	m.t.Helper()
	if got := m.routingRows(id); got != want {
		m.t.Errorf("the routing of %s is %q, want %q", id, got, want)
	}
}

func TestRoutingShowsTheOutcomeAtEachTerminal(t *testing.T) {
	merchant := newMerchant(t)
	merchant.addTerminal("payment", `{"priority":-3,"fail":"rejected"}`)
	merchant.addTerminal("payment", `{"priority":2}`)
	id := merchant.create(payment(good)).has("status", "charged").at("id")
	merchant.wantRouting(id, "T1 -3 refused The terminal's settings force this outcome., T2 2 accepted null")
	r := auditor(t).get(transactions+"/"+id+"/routing").has("data.0.name", "T1", "data.1.name", "T2")
	if first, last := r.time("data.0.at"), r.time("data.1.at"); last.Before(first) || !last.Equal(merchant.read(id).time("finished")) {
		t.Errorf("%s", r.body)
	}
	merchant.wantRouting(merchant.create(payment(declined)).at("id"), "T1 -3 refused The terminal's settings force this outcome., T2 2 refused The card was declined.")
	merchant.wantRouting(merchant.create(payment(processing)).at("id"), "T1 -3 refused The terminal's settings force this outcome., T2 2 failed The provider could not process the transaction.")
}

func TestRoutingShowsAttemptsUnderWay(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{"priority":7}`)
	waits := merchant.create(payment(redirected)).has("status", "action_required").at("id")
	merchant.wantRouting(waits, "T1 7 accepted null")
	slow := merchant.create(payment(delayed)).has("status", "charging").at("id")
	merchant.wantRouting(slow, "T1 7 accepted null")
	unknown := merchant.create(payment(silent)).has("status", "charging").at("id")
	merchant.wantRouting(unknown, "T1 7 pending null")
	page := merchant.create(hosted()).has("status", "created").at("id")
	auditor(t).get(transactions+"/"+page+"/routing").wantBody(200, `{"data":[]}`)
	advance(t, 10)
	merchant.wantRouting(slow, "T1 7 accepted null")
	merchant.wantRouting(unknown, "T1 7 accepted null")
	merchant.cancel(waits).want(200)
	if got := merchant.routingRows(waits); !strings.HasPrefix(got, "T1 7 failed ") || strings.HasSuffix(got, " null") {
		t.Errorf("when it is cancelled: %q", got)
	}
	held := newMerchantWithTerminals(t, `{"two_phase":true}`)
	held.wantRouting(held.create(payment(good)).has("status", "payment_suspended").at("id"), "T1 0 accepted null")
}

func TestRoutingShowsWhyNoTerminalAccepted(t *testing.T) {
	m := newMerchant(t)
	m.addTerminal("payout", `{"priority":4}`)
	m.wantRouting(m.create(payout(good)).has("status", "rejected").at("id"), "T1 4 stopped insufficient balance")
	m.addTerminal("payment", `{"priority":-2}`)
	admin(t).patch(v1+"/terminal/"+m.terminals[1], `{"is_active":false}`).want(200)
	got := m.routingRows(m.create(payment(good)).has("error_description", "no terminal available").at("id"))
	if !strings.Contains(got, "T2 -2 excluded it is switched off") {
		t.Errorf("%q", got)
	}
}

func TestRoutingIsForTheAdministrationAndAuditors(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	path := transactions + "/" + m.create(payment(good)).at("id") + "/routing"
	m.get(path).want(403).has("error", "forbidden")
	anyone(t).get(path).wantBody(401, `{"error":"unauthorized"}`)
	admin(t).get(transactions + "/" + m.terminals[0] + "/routing").want(404)
	s := testServer(t).Sandbox
	bearer(t, s.SessionToken).get(path).want(200)
	bearer(t, s.Second.SessionToken).get(path).want(401)
	admin(t).with("x-organization-id", s.Second.OrganizationID).get(path).want(404)
}

package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// ids returns the ids of a list's rows.
func (a *answer) ids() (all []string) {
	a.t.Helper()
	var list struct{ Data []struct{ ID string } }
	must(a.t, json.Unmarshal([]byte(a.body), &list))
	for _, row := range list.Data {
		all = append(all, row.ID)
	}
	return all
}

func (d *contractFixture) id() string { return d.path[strings.LastIndex(d.path, "/")+1:] }

// wantList checks which contracts of the product a list returns, and their order.
func (h *fixture) wantList(product, query string, want ...*contractFixture) {
	h.t.Helper()
	var wanted []string
	for _, d := range want {
		wanted = append(wanted, d.id())
	}
	if got := h.session().get(pfp+product+query).want(200, "").ids(); !slices.Equal(got, wanted) {
		h.t.Errorf("%s%s finds %q, want %q", product, query, got, wanted)
	}
}

// "List filters (all products)": status, region, type, env. Newest first.
func TestListsOfEveryProductAreFilteredByStatusRegionTypeAndEnv(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for product, c := range map[string]struct{ field, one, other, step, moved string }{
		"certificate-issues":   {"backing_type", "lease", "manufacturing", "submit", "under_review"},
		"managed-investments":  {"mandate_type", "restricted", "unrestricted", "submit", "under_review"},
		"leases":               {"lease_type", "operating", "finance", "submit", "under_review"},
		"partnerships":         {"partnership_type", "permanent", "diminishing", "submit", "under_review"},
		"investment-deposits":  {"investment_type", "general", "restricted", "activate", "active"},
		"instalment-sales":     {"asset_type", "mill", "lathe", "submit", "under_review"},
		"safekeeping-deposits": {"custody_type", "guaranteed", "trust", "activate", "active"},
	} {
		more := []string{"term_months", `12`, "purchase_option_price", `"1"`}
		first := h.createSecular(product, append(more, c.field, `"`+c.one+`"`)...)
		other := h.createSecular(product, append(more, c.field, `"`+c.other+`"`, "region", `"MY"`)...)
		test := h.createSecular(product, append(more, c.field, `"`+c.one+`"`, "env", `"test"`)...)
		begun := other.read().at("data.status")
		first.mustAct(c.step)
		both := []*contractFixture{test, other, first}
		if product == "partnerships" { // "partnerships default prod"
			both = both[1:]
		}
		h.wantList(product, "", both...)
		h.wantList(product, "?env=prod", other, first)
		h.wantList(product, "?env=test", test)
		h.wantList(product, "?status="+c.moved, first)
		h.wantList(product, "?env=prod&status="+begun, other)
		h.wantList(product, "?region=MY", other)
		h.wantList(product, "?region=AE&env=prod", first)
		h.wantList(product, "?region=SA")
		h.wantList(product, "?type="+c.other, other)
		h.wantList(product, "?env=prod&type="+c.one, first)
		h.wantList(product, "?env=prod&type="+c.one+"&region=AE&status="+c.moved, first)
		h.wantList(product, "?env=prod&type="+c.one+"&region=MY")
	}
}

// Each value of a type is a filter, and no other value is.
func TestListsAcceptOnlyTheTypesOfTheirProduct(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for product, types := range map[string]string{
		"certificate-issues":   "lease managed_investment partnership installment_sale manufacturing forward_purchase",
		"managed-investments":  "restricted unrestricted",
		"leases":               "operating finance",
		"partnerships":         "permanent diminishing",
		"investment-deposits":  "general restricted",
		"safekeeping-deposits": "guaranteed trust",
	} {
		for _, word := range strings.Fields(types) {
			h.session().get(pfp+product+"?type="+word).want(200, "")
		}
		h.session().get(pfp + product + "?type=other").wantFaults("type")
	}
	for _, status := range strings.Fields("pending active matured withdrawn closed") {
		h.session().get(pfp+"investment-deposits?status="+status).want(200, "")
	}
}

// "customer_id": for managed investments, leases and investment deposits, and for all products
// that have a customer.
func TestListsFilterByCustomer(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, product := range products {
		if product == "certificate-issues" {
			h.session().get(pfp + product + "?customer_id=" + someone).wantFaults("customer_id")
			continue
		}
		mine, theirs := h.createSecular(product), h.createSecular(product, "customer_id", `"`+someoneElse+`"`)
		test := h.createSecular(product, "env", `"test"`)
		h.wantList(product, "?env=prod&customer_id="+someone, mine)
		h.wantList(product, "?env=prod&customer_id="+someoneElse, theirs)
		h.wantList(product, "?env=test&customer_id="+someone, test)
		h.wantList(product, "?customer_id=7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c99")
	}
}

// "investor_id (uuid, issues where this holder has a subscription)".
func TestIssuesFilterByInvestor(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	window := `offering subscription_start "2026-09-01" subscription_end "2026-09-30"`
	buy := func(who, n string) string { return `subscribe investor_id "` + who + `" certificates ` + n }
	first := h.createSecular("certificate-issues").mustActAll(window, buy(someone, "1"), buy(someoneElse, "1"), buy(someone, "2"))
	second := h.createSecular("certificate-issues").mustActAll(window, buy(someone, "3"))
	h.createSecular("certificate-issues").mustActAll(window)
	h.wantList("certificate-issues", "?investor_id="+someone, second, first)
	h.wantList("certificate-issues", "?investor_id="+someoneElse, first)
	h.wantList("certificate-issues", "?investor_id="+someone+"&status=draft")
	h.wantList("certificate-issues", "?limit=1&investor_id="+someone, second)
	h.session().get(pfp + "leases?investor_id=" + someone).wantFaults("investor_id")
}

// "arrears=true (active leases in arrears)": by the recorded amount.
func TestLeasesFilterByArrears(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	begin := []string{`acquire ownership_documents ["deed"]`, "activate"}
	late := h.createSecular("leases").mustActAll(begin...).mustActAll(`arrears amount "5"`)
	cleared := h.createSecular("leases").mustActAll(begin...).mustActAll(`arrears amount "5"`, `arrears amount "0"`)
	h.createSecular("leases").mustActAll(begin...).mustActAll(`arrears amount "5"`, "return")
	well := h.createSecular("leases").mustActAll(begin...)
	h.wantList("leases", "?arrears=true", late)
	h.wantList("leases", "?arrears=false&status=active", well, cleared)
	h.wantList("leases", "?status=active", well, cleared, late)
	for _, said := range []string{"yes", "", "TRUE", "1", "0"} {
		h.session().get(pfp + "leases?arrears=" + said).wantFaults("arrears")
	}
	h.session().get(pfp + "partnerships?arrears=true").wantFaults("arrears")
}

// "ending_in_days (integer, active leases ending within N days)".
func TestLeasesFilterByEndingInDays(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	begin := []string{`acquire ownership_documents ["deed"]`, "activate"}
	one := h.createSecular("leases", "lease_term_months", `1`).mustActAll(begin...)
	two := h.createSecular("leases", "lease_term_months", `2`).mustActAll(begin...)
	h.createSecular("leases", "lease_term_months", `1`)
	h.createSecular("leases", "lease_term_months", `1`).mustActAll(begin...).mustActAll("return")
	for days, want := range map[string][]*contractFixture{"0": nil, "29": nil, "30": {one}, "59": {one}, "60": {two, one}, "36500": {two, one}} {
		h.wantList("leases", "?ending_in_days="+days, want...)
	}
	h.advanceDays(15)
	h.wantList("leases", "?ending_in_days=15", one)
	h.wantList("leases", "?ending_in_days=14")
	for _, days := range []string{"-1", "1.5", "x", "", "01", "36501", "9223372036854775808"} {
		h.session().get(pfp + "leases?ending_in_days=" + days).wantFaults("ending_in_days")
	}
	h.session().get(pfp + "investment-deposits?ending_in_days=1").wantFaults("ending_in_days")
}

// An unknown parameter of a list is 422 with its name, in the contracts' shape.
func TestContractListsRefuseUnknownParameters(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=201": "limit", "limit=x": "limit", "limit=": "limit", "limit=01": "limit", "limit=1e2": "limit", "limit=9223372036854775808": "limit",
		"status=done": "status", "status=": "status", "status=Draft": "status", "region=XX": "region", "region=": "region", "region=ae": "region",
		"type=": "type", "env=live": "env", "env=": "env", "cursor=x": "cursor", "cursor=": "cursor", "customer_id=x": "customer_id",
		"page=1": "page", "per_page=1": "per_page", "env=test&env=prod": "env", "Status=draft": "Status", "customer_id=" + strings.Repeat("1", 2000): "customer_id",
	} {
		for _, product := range []string{"leases", "partnerships"} {
			a := h.session().get(pfp + product + "?" + query)
			if a.status != 422 || a.at("error") != "unprocessable_entity" || a.at("details."+field) == "(absent)" {
				t.Errorf("%s?%.80s: %d %s", product, query, a.status, a.body)
			}
		}
	}
}

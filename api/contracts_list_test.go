package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// ids are those of a list's rows.
func (a *answer) ids() (all []string) {
	a.t.Helper()
	var list struct{ Data []struct{ ID string } }
	must(a.t, json.Unmarshal([]byte(a.body), &list))
	for _, row := range list.Data {
		all = append(all, row.ID)
	}
	return all
}

func (d *pact) id() string { return d.path[strings.LastIndex(d.path, "/")+1:] }

// lists checks what a list of the product finds, in its order.
func (h *house) lists(product, query string, want ...*pact) {
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
	h := open(t)
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
		first := h.strikes(product, append(more, c.field, `"`+c.one+`"`)...)
		other := h.strikes(product, append(more, c.field, `"`+c.other+`"`, "region", `"MY"`)...)
		test := h.strikes(product, append(more, c.field, `"`+c.one+`"`, "env", `"test"`)...)
		begun := other.says().at("data.status")
		first.does(c.step)
		both := []*pact{test, other, first}
		if product == "partnerships" { // "partnerships default prod"
			both = both[1:]
		}
		h.lists(product, "", both...)
		h.lists(product, "?env=prod", other, first)
		h.lists(product, "?env=test", test)
		h.lists(product, "?status="+c.moved, first)
		h.lists(product, "?env=prod&status="+begun, other)
		h.lists(product, "?region=MY", other)
		h.lists(product, "?region=AE&env=prod", first)
		h.lists(product, "?region=SA")
		h.lists(product, "?type="+c.other, other)
		h.lists(product, "?env=prod&type="+c.one, first)
		h.lists(product, "?env=prod&type="+c.one+"&region=AE&status="+c.moved, first)
		h.lists(product, "?env=prod&type="+c.one+"&region=MY")
	}
}

// Every word of a type's values is a filter, and no other is.
func TestListsTakeTheTypesOfTheirProduct(t *testing.T) {
	t.Parallel()
	h := open(t)
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
		h.session().get(pfp + product + "?type=other").faults("type")
	}
	for _, status := range strings.Fields("pending active matured withdrawn closed") {
		h.session().get(pfp+"investment-deposits?status="+status).want(200, "")
	}
}

// "customer_id": of managed investments, leases and investment deposits, and of all
// products that have a customer.
func TestListsFindACustomersContracts(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, product := range products {
		if product == "certificate-issues" {
			h.session().get(pfp + product + "?customer_id=" + someone).faults("customer_id")
			continue
		}
		mine, theirs := h.strikes(product), h.strikes(product, "customer_id", `"`+stranger+`"`)
		test := h.strikes(product, "env", `"test"`)
		h.lists(product, "?env=prod&customer_id="+someone, mine)
		h.lists(product, "?env=prod&customer_id="+stranger, theirs)
		h.lists(product, "?env=test&customer_id="+someone, test)
		h.lists(product, "?customer_id=7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c99")
	}
}

// "investor_id (uuid, issues where this holder has a subscription)".
func TestIssuesAreFoundByTheirInvestors(t *testing.T) {
	t.Parallel()
	h := open(t)
	window := `offering subscription_start "2026-09-01" subscription_end "2026-09-30"`
	buy := func(who, n string) string { return `subscribe investor_id "` + who + `" certificates ` + n }
	first := h.strikes("certificate-issues").follows(window, buy(someone, "1"), buy(stranger, "1"), buy(someone, "2"))
	second := h.strikes("certificate-issues").follows(window, buy(someone, "3"))
	h.strikes("certificate-issues").follows(window)
	h.lists("certificate-issues", "?investor_id="+someone, second, first)
	h.lists("certificate-issues", "?investor_id="+stranger, first)
	h.lists("certificate-issues", "?investor_id="+someone+"&status=draft")
	h.lists("certificate-issues", "?limit=1&investor_id="+someone, second)
	h.session().get(pfp + "leases?investor_id=" + someone).faults("investor_id")
}

// "arrears=true (active leases in arrears)": by the recorded amount.
func TestLeasesInArrearsAreFound(t *testing.T) {
	t.Parallel()
	h := open(t)
	begin := []string{`acquire ownership_documents ["deed"]`, "activate"}
	late := h.strikes("leases").follows(begin...).follows(`arrears amount "5"`)
	cleared := h.strikes("leases").follows(begin...).follows(`arrears amount "5"`, `arrears amount "0"`)
	h.strikes("leases").follows(begin...).follows(`arrears amount "5"`, "return")
	well := h.strikes("leases").follows(begin...)
	h.lists("leases", "?arrears=true", late)
	h.lists("leases", "?arrears=false&status=active", well, cleared)
	h.lists("leases", "?status=active", well, cleared, late)
	for _, said := range []string{"yes", "", "TRUE", "1", "0"} {
		h.session().get(pfp + "leases?arrears=" + said).faults("arrears")
	}
	h.session().get(pfp + "partnerships?arrears=true").faults("arrears")
}

// "ending_in_days (integer, active leases ending within N days)".
func TestLeasesThatEndSoonAreFound(t *testing.T) {
	t.Parallel()
	h := open(t)
	begin := []string{`acquire ownership_documents ["deed"]`, "activate"}
	one := h.strikes("leases", "lease_term_months", `1`).follows(begin...)
	two := h.strikes("leases", "lease_term_months", `2`).follows(begin...)
	h.strikes("leases", "lease_term_months", `1`)
	h.strikes("leases", "lease_term_months", `1`).follows(begin...).follows("return")
	for days, want := range map[string][]*pact{"0": nil, "29": nil, "30": {one}, "59": {one}, "60": {two, one}, "36500": {two, one}} {
		h.lists("leases", "?ending_in_days="+days, want...)
	}
	h.passes(15)
	h.lists("leases", "?ending_in_days=15", one)
	h.lists("leases", "?ending_in_days=14")
	for _, days := range []string{"-1", "1.5", "x", "", "01", "36501", "9223372036854775808"} {
		h.session().get(pfp + "leases?ending_in_days=" + days).faults("ending_in_days")
	}
	h.session().get(pfp + "investment-deposits?ending_in_days=1").faults("ending_in_days")
}

// What a list does not know is 422 by its name, in the contracts' shape.
func TestListsOfContractsRefuseWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	h := open(t)
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

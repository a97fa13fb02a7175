package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// ids returns the ids of a list's rows.
func (r *response) ids() (idList []string) {
	r.t.Helper()
	var list struct{ Data []struct{ ID string } }
	must(r.t, json.Unmarshal([]byte(r.body), &list))
	for _, row := range list.Data {
		idList = append(idList, row.ID)
	}
	return idList
}

func (contract *contractFixture) id() string {
	return contract.path[strings.LastIndex(contract.path, "/")+1:]
}

// wantList checks which contracts of the product the list with this query returns, and their order.
func (f *fixture) wantList(product, query string, want ...*contractFixture) {
	f.t.Helper()
	var wantIDs []string
	for _, contract := range want {
		wantIDs = append(wantIDs, contract.id())
	}
	if got := f.session().get(secularPath+product+query).want(200, "").ids(); !slices.Equal(got, wantIDs) {
		f.t.Errorf("%s%s finds %q, want %q", product, query, got, wantIDs)
	}
}

// "List filters (all products)": status, region, type, env. Lists have the newest contract first.
func TestListsOfEveryProductAreFilteredByStatusRegionTypeAndEnv(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	table := map[string]struct{ typeField, firstType, otherType, action, nextStatus string }{
		"certificate-issues":   {"backing_type", "lease", "manufacturing", "submit", "under_review"},
		"managed-investments":  {"mandate_type", "restricted", "unrestricted", "submit", "under_review"},
		"leases":               {"lease_type", "operating", "finance", "submit", "under_review"},
		"partnerships":         {"partnership_type", "permanent", "diminishing", "submit", "under_review"},
		"investment-deposits":  {"investment_type", "general", "restricted", "activate", "active"},
		"instalment-sales":     {"asset_type", "mill", "lathe", "submit", "under_review"},
		"safekeeping-deposits": {"custody_type", "guaranteed", "trust", "activate", "active"},
	}
	wantEveryProduct(t, table)
	for product, c := range table {
		typeMembers := []string{"term_months", `12`, "purchase_option_price", `"1"`}
		firstContract := f.createSecular(product, append(typeMembers, c.typeField, `"`+c.firstType+`"`)...)
		otherContract := f.createSecular(product, append(typeMembers, c.typeField, `"`+c.otherType+`"`, "region", `"MY"`)...)
		testContract := f.createSecular(product, append(typeMembers, c.typeField, `"`+c.firstType+`"`, "env", `"test"`)...)
		initialStatus := otherContract.read().at("data.status")
		firstContract.mustAct(c.action)
		unfiltered := []*contractFixture{testContract, otherContract, firstContract}
		if product == "partnerships" { // "partnerships default prod": without env, the list of partnerships has no test contracts
			unfiltered = unfiltered[1:]
		}
		f.wantList(product, "", unfiltered...)
		f.wantList(product, "?env=prod", otherContract, firstContract)
		f.wantList(product, "?env=test", testContract)
		f.wantList(product, "?status="+c.nextStatus, firstContract)
		f.wantList(product, "?env=prod&status="+initialStatus, otherContract)
		f.wantList(product, "?region=MY", otherContract)
		f.wantList(product, "?region=AE&env=prod", firstContract)
		f.wantList(product, "?region=SA")
		f.wantList(product, "?type="+c.otherType, otherContract)
		f.wantList(product, "?env=prod&type="+c.firstType, firstContract)
		f.wantList(product, "?env=prod&type="+c.firstType+"&region=AE&status="+c.nextStatus, firstContract)
		f.wantList(product, "?env=prod&type="+c.firstType+"&region=MY")
	}
}

// The filter by type accepts each type of the product, and nothing else.
func TestListsAcceptOnlyTheTypesOfTheirProduct(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for product, types := range map[string]string{
		"certificate-issues":   "lease managed_investment partnership installment_sale manufacturing forward_purchase",
		"managed-investments":  "restricted unrestricted",
		"leases":               "operating finance",
		"partnerships":         "permanent diminishing",
		"investment-deposits":  "general restricted",
		"safekeeping-deposits": "guaranteed trust",
	} {
		for _, contractType := range strings.Fields(types) {
			f.session().get(secularPath+product+"?type="+contractType).want(200, "")
		}
		f.session().get(secularPath + product + "?type=other").wantFaults("type")
	}
	for _, status := range strings.Fields("pending active matured withdrawn closed") {
		f.session().get(secularPath+"investment-deposits?status="+status).want(200, "")
	}
}

// The filter customer_id is accepted for all products that have a customer, not only for managed
// investments, leases and investment deposits.
func TestListsFilterByCustomer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, product := range products {
		if product == "certificate-issues" {
			f.session().get(secularPath + product + "?customer_id=" + customerID).wantFaults("customer_id")
			continue
		}
		ownContract, otherContract := f.createSecular(product), f.createSecular(product, "customer_id", `"`+otherCustomerID+`"`)
		testContract := f.createSecular(product, "env", `"test"`)
		f.wantList(product, "?env=prod&customer_id="+customerID, ownContract)
		f.wantList(product, "?env=prod&customer_id="+otherCustomerID, otherContract)
		f.wantList(product, "?env=test&customer_id="+customerID, testContract)
		f.wantList(product, "?customer_id=7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c99")
	}
}

// Specification: "investor_id (uuid, issues where this holder has a subscription)".
func TestIssuesFilterByInvestor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	offer := `offering subscription_start "2026-09-01" subscription_end "2026-09-30"`
	subscribe := func(investorID, certificates string) string {
		return `subscribe investor_id "` + investorID + `" certificates ` + certificates
	}
	firstIssue := f.createSecular("certificate-issues").mustActAll(offer, subscribe(customerID, "1"), subscribe(otherCustomerID, "1"), subscribe(customerID, "2"))
	secondIssue := f.createSecular("certificate-issues").mustActAll(offer, subscribe(customerID, "3"))
	f.createSecular("certificate-issues").mustActAll(offer)
	f.wantList("certificate-issues", "?investor_id="+customerID, secondIssue, firstIssue)
	f.wantList("certificate-issues", "?investor_id="+otherCustomerID, firstIssue)
	f.wantList("certificate-issues", "?investor_id="+customerID+"&status=draft")
	f.wantList("certificate-issues", "?limit=1&investor_id="+customerID, secondIssue)
	f.session().get(secularPath + "leases?investor_id=" + customerID).wantFaults("investor_id")
}

// "arrears=true (active leases in arrears)": a lease is in arrears if its recorded arrears are above zero.
func TestLeasesFilterByArrears(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	toActive := []string{`acquire ownership_documents ["deed"]`, "activate"}
	inArrears := f.createSecular("leases").mustActAll(toActive...).mustActAll(`arrears amount "5"`)
	cleared := f.createSecular("leases").mustActAll(toActive...).mustActAll(`arrears amount "5"`, `arrears amount "0"`)
	f.createSecular("leases").mustActAll(toActive...).mustActAll(`arrears amount "5"`, "return")
	punctual := f.createSecular("leases").mustActAll(toActive...)
	f.wantList("leases", "?arrears=true", inArrears)
	f.wantList("leases", "?arrears=false&status=active", punctual, cleared)
	f.wantList("leases", "?status=active", punctual, cleared, inArrears)
	for _, text := range []string{"yes", "", "TRUE", "1", "0"} {
		f.session().get(secularPath + "leases?arrears=" + text).wantFaults("arrears")
	}
	f.session().get(secularPath + "partnerships?arrears=true").wantFaults("arrears")
}

// Specification: "ending_in_days (integer, active leases ending within N days)".
func TestLeasesFilterByEndingInDays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	toActive := []string{`acquire ownership_documents ["deed"]`, "activate"}
	oneMonthLease := f.createSecular("leases", "lease_term_months", `1`).mustActAll(toActive...)
	twoMonthLease := f.createSecular("leases", "lease_term_months", `2`).mustActAll(toActive...)
	f.createSecular("leases", "lease_term_months", `1`)
	f.createSecular("leases", "lease_term_months", `1`).mustActAll(toActive...).mustActAll("return")
	for days, want := range map[string][]*contractFixture{"0": nil, "29": nil, "30": {oneMonthLease}, "59": {oneMonthLease}, "60": {twoMonthLease, oneMonthLease}, "36500": {twoMonthLease, oneMonthLease}} {
		f.wantList("leases", "?ending_in_days="+days, want...)
	}
	f.advanceDays(15)
	f.wantList("leases", "?ending_in_days=15", oneMonthLease)
	f.wantList("leases", "?ending_in_days=14")
	for _, days := range []string{"-1", "1.5", "x", "", "01", "36501", "9223372036854775808"} {
		f.session().get(secularPath + "leases?ending_in_days=" + days).wantFaults("ending_in_days")
	}
	f.session().get(secularPath + "investment-deposits?ending_in_days=1").wantFaults("ending_in_days")
}

// An unknown or invalid parameter of a list gets 422 with its name, in the contracts' error shape.
func TestContractListsRefuseUnknownParameters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=201": "limit", "limit=x": "limit", "limit=": "limit", "limit=01": "limit", "limit=1e2": "limit", "limit=9223372036854775808": "limit",
		"status=done": "status", "status=": "status", "status=Draft": "status", "region=XX": "region", "region=": "region", "region=ae": "region",
		"type=": "type", "env=live": "env", "env=": "env", "cursor=x": "cursor", "cursor=": "cursor", "customer_id=x": "customer_id",
		"page=1": "page", "per_page=1": "per_page", "env=test&env=prod": "env", "Status=draft": "Status", "customer_id=" + strings.Repeat("1", 2000): "customer_id",
	} {
		for _, product := range []string{"leases", "partnerships"} {
			r := f.session().get(secularPath + product + "?" + query)
			if r.status != 422 || r.at("error") != "unprocessable_entity" || r.at("details."+field) == "(absent)" {
				t.Errorf("%s?%.80s: %d %s", product, query, r.status, r.body)
			}
		}
	}
}

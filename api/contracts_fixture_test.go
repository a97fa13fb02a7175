package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// secularPath is the prefix of the URL paths of the secular reading. A reading is one of the two families of endpoints for
// contracts, the secular and the religious one.
const secularPath = "/api/v1/pfp/"

// Ids of two customers.
const (
	customerID      = "7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01"
	otherCustomerID = "7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c02"
)

// members are the members of a JSON object: names, each with its value as JSON.
type members map[string]string

// with returns a changed copy of the members. It takes name, value pairs; an empty value removes the member.
func (m members) with(pairs ...string) members {
	merged := maps.Clone(m)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			delete(merged, pairs[i])
			continue
		}
		merged[pairs[i]] = pairs[i+1]
	}
	return merged
}

func (m members) json() string {
	parts := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%q:%s", name, m[name]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

const halfRatio = `{"bank":50,"customer":50}`

// forms are the bodies that create a contract of each product, without optional members.
var forms = map[string]members{
	"certificate-issues": {
		"name": `"Tower A"`, "region": `"AE"`, "backing_type": `"lease"`, "underlying_asset": `"An office tower"`,
		"underlying_asset_value": `"1000"`, "total_value": `"1000"`, "certificate_value": `"100"`, "expected_yield": `5`, "maturity_months": `12`,
	},
	"managed-investments": {
		"customer_id": `"` + customerID + `"`, "region": `"AE"`, "currency": `"AED"`, "capital_amount": `"1000"`, "business_type": `"trade"`,
		"profit_sharing_ratio": halfRatio, "term_months": `12`,
	},
	"leases": {
		"customer_id": `"` + customerID + `"`, "region": `"AE"`, "lease_type": `"operating"`, "asset_description": `"A lorry of 12 t"`,
		"asset_cost": `"1200"`, "lease_term_months": `12`, "monthly_rental": `"100"`,
	},
	"partnerships": {
		"customer_id": `"` + customerID + `"`, "region": `"AE"`, "partnership_type": `"permanent"`, "total_value": `"1000"`,
		"bank_contribution": `"600"`, "customer_contribution": `"400"`, "profit_sharing_ratio": halfRatio,
	},
	"investment-deposits": {
		"customer_id": `"` + customerID + `"`, "region": `"AE"`, "currency": `"AED"`, "initial_amount": `"1000"`, "term_months": `12`,
		"profit_sharing_ratio": halfRatio,
	},
	"instalment-sales": {
		"customer_id": `"` + customerID + `"`, "region": `"AE"`, "currency": `"AED"`, "asset_description": `"A milling machine"`,
		"asset_cost": `"1000"`, "markup_rate": `10`, "instalments": `4`,
	},
	"safekeeping-deposits": {
		"customer_id": `"` + customerID + `"`, "region": `"AE"`, "currency": `"AED"`, "custody_type": `"guaranteed"`, "initial_amount": `"1000"`,
	},
}

// products are the products' names in alphabetical order.
var products = slices.Sorted(maps.Keys(forms))

// wantEveryProduct checks that a test's table has a row for each product, so that the test skips
// none.
func wantEveryProduct[V any](t *testing.T, table map[string]V) {
	t.Helper()
	for _, product := range products {
		if _, found := table[product]; !found {
			t.Errorf("the table of this test has no row for %s", product)
		}
	}
}

// contractFixture has the URL path of a contract, and the API client with which the test requests it.
type contractFixture struct {
	caller
	path string
}

// createSecular creates a contract of the product, as an administrator of the first organization. The
// changes to the product's form are name, value pairs.
func (f *fixture) createSecular(product string, changes ...string) *contractFixture {
	f.t.Helper()
	id := f.session().post(secularPath+product, forms[product].with(changes...).json()).want(201, "").at("data.id")
	return &contractFixture{f.session(), secularPath + product + "/" + id}
}

// mustAct performs an action that must succeed.
func (contract *contractFixture) mustAct(action string, pairs ...string) *response {
	contract.fixture.t.Helper()
	r := contract.act(action, pairs...)
	if r.status != 200 {
		contract.fixture.t.Fatalf("%s: %d %s", action, r.status, r.body)
	}
	return r
}

// act performs an action. Its body has the members given as name, value pairs; without pairs there is no body.
func (contract *contractFixture) act(action string, pairs ...string) *response {
	contract.fixture.t.Helper()
	body := ""
	if len(pairs) > 0 {
		body = members{}.with(pairs...).json()
	}
	return contract.post(contract.path+"/"+action, body)
}

// mustActAll performs actions in order. Each is the action's name, followed by the names and values of its body's
// members, all separated by spaces.
func (contract *contractFixture) mustActAll(actions ...string) *contractFixture {
	contract.fixture.t.Helper()
	for _, action := range actions {
		parts := strings.Fields(action)
		contract.mustAct(parts[0], parts[1:]...)
	}
	return contract
}

// read reads the contract.
func (contract *contractFixture) read() *response {
	contract.fixture.t.Helper()
	return contract.get(contract.path).want(200, "")
}

// entries returns the contract's entries, oldest first: its events that moved money, as "event
// date: Dr account amount, Cr account amount". {c} stands for the contract, {p} and {q} for the customers.
func (contract *contractFixture) entries() (entries []string) {
	contract.fixture.t.Helper()
	var list struct {
		Data []struct {
			Event    string
			Date     string `json:"effective_date"`
			Postings []struct{ Account, Side, Amount string }
		}
	}
	must(contract.fixture.t, json.Unmarshal([]byte(contract.get(contract.path+"/entries?limit=500").want(200, "").body), &list))
	placeholders := strings.NewReplacer(contract.path[strings.LastIndex(contract.path, "/")+1:], "{c}", customerID, "{p}", otherCustomerID, "{q}")
	for _, e := range slices.Backward(list.Data) {
		var lines []string
		for _, p := range e.Postings {
			side := map[string]string{"debit": "Dr", "credit": "Cr"}[p.Side]
			lines = append(lines, side+" "+placeholders.Replace(p.Account)+" "+p.Amount)
		}
		entries = append(entries, e.Event+" "+e.Date+": "+strings.Join(lines, ", "))
	}
	return entries
}

// wantEntries checks all entries of the contract.
func (contract *contractFixture) wantEntries(want ...string) {
	contract.fixture.t.Helper()
	if got := contract.entries(); !slices.Equal(got, want) {
		contract.fixture.t.Errorf("its entries are\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// wantData checks values in the response's data. They are given as path, text pairs.
func (r *response) wantData(pairs ...string) *response {
	r.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := r.at("data." + pairs[i]); got != pairs[i+1] {
			r.t.Errorf("%s is %s, want %s", pairs[i], got, pairs[i+1])
		}
	}
	return r
}

// wantFaults checks that the response is 422 in the contracts' shape, and names exactly these
// fields, each with a message.
func (r *response) wantFaults(fields ...string) *response {
	r.t.Helper()
	details, hasDetails := r.object()["details"].(map[string]any)
	names := slices.Sorted(maps.Keys(details))
	slices.Sort(fields)
	if r.status != 422 || !hasDetails || r.at("error") != "unprocessable_entity" || !slices.Equal(names, fields) {
		r.t.Errorf("responded %d %s, want 422 about %q", r.status, r.body, fields)
	}
	for name, text := range details {
		if messages, ok := text.([]any); !ok || len(messages) == 0 || messages[0] == "" {
			r.t.Errorf("%s is refused with %v", name, text)
		}
	}
	return r
}

// wantConflict checks that the contract's state machine has refused the action.
func (r *response) wantConflict() *response {
	r.t.Helper()
	if r.status != 409 || r.at("error") != "conflict" || r.at("message") == "(absent)" {
		r.t.Errorf("responded %d %s, want 409 conflict", r.status, r.body)
	}
	return r
}

// wantNothingStored checks that fn's requests add no event.
func (f *fixture) wantNothingStored(t testing.TB, fn func()) {
	t.Helper()
	before := f.eventCount()
	fn()
	if after := f.eventCount(); after != before {
		t.Errorf("%d events are stored, were %d", after, before)
	}
}

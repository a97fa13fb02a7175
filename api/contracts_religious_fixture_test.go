package api_test

import (
	"maps"
	"slices"
	"testing"

	"mizan/ledger/contract"
)

// religiousPath is the prefix of the URL paths of the religious reading. A reading is one of the two families of endpoints for
// contracts, the secular and the religious one.
const religiousPath = "/api/v1/baas/islamic-banking/"

// counterparts maps the religious family's product types to the secular names of their
// products.
var counterparts = map[string]string{
	"murabaha": "instalment-sales", "mudaraba": "managed-investments", "musharaka": "partnerships",
	"ijara": "leases", "sukuk": "certificate-issues", "wadiah": "safekeeping-deposits",
}

// productTypes are the religious family's product types in alphabetical order.
var productTypes = slices.Sorted(maps.Keys(counterparts))

// Most tests of contracts run over the tables forms, counterparts and religiousActions. A product that
// is missing there would not be tested over HTTP.
func TestTablesOfContractTestsHaveEveryProduct(t *testing.T) {
	for _, p := range contract.Products {
		secular := p.Variants[contract.Secular].Name
		if forms[secular] == nil {
			t.Errorf("%s are not in forms", secular)
		}
		if religious := p.Variants[contract.Religious]; religious != nil && (counterparts[religious.Name] != secular || religiousActions[religious.Name] == nil) {
			t.Errorf("%s is not in counterparts or not in religiousActions", religious.Name)
		}
	}
}

// religiousActions is the specification's table of actions: the actions of each product type, each with a valid body.
var religiousActions = map[string]map[string]members{
	"murabaha": {
		"approve": fatwa, "order_asset": {}, "purchase_asset": {"ownership_documents": `["bill"]`}, "deliver_asset": {}, "activate": {},
		"record_payment": {"amount": `"1"`}, "record_delinquency": {"amount": `"1"`},
	},
	"mudaraba": {
		"approve": fatwa, "reject": refusal, "fund": {}, "activate": {},
		"distribute_profit": {"gross_profit": `"10"`, "period_end_date": `"2026-09-03"`}, "record_loss": {"amount": `"1"`}, "complete": {"final_value": `"1"`},
	},
	"ijara": {
		"approve": fatwa, "reject": refusal, "acquire_asset": {"ownership_documents": `["deed"]`}, "activate": {}, "record_rental": {"amount": `"1"`},
		"record_arrears": {"amount": `"1"`}, "record_owner_expense": {"amount": `"1"`, "description": `"tyres"`},
		"mark_transfer_pending": {}, "transfer_ownership": {}, "return_asset": {}, "terminate": refusal,
	},
	"sukuk": {
		"approve": fatwa, "reject": refusal, "start_offering": {"subscription_start": `"2026-09-01"`, "subscription_end": `"2026-09-30"`},
		"subscribe": {"investor_id": `"` + customerID + `"`, "certificates": `1`}, "close_subscription": {}, "activate": {},
		"distribute_profit": {"total_profit": `"10"`}, "mature": {}, "redeem": {"redemption_date": `"2026-09-03"`},
		"redeem_early": {"redemption_date": `"2026-09-03"`}, "default": refusal,
	},
	"musharaka": {"buyout_unit": {}},
	"wadiah":    {"grant_hibah": {"amount": `"1"`, "granted_by": `"the board"`}},
}

// fatwa is the body that approves a contract, refusal the body that rejects one.
var (
	fatwa   = members{"approved_by": `"Dr. Amin"`, "fatwa_reference": `"F-7/2026"`}
	refusal = members{"reason": `"not permitted"`}
)

// reviewJSON is the compliance_review that the creation of a musharaka or wadiah must contain.
const reviewJSON = `{"approved_by":"Dr. Amin","fatwa_reference":"F-7/2026"}`

// religiousForm returns the body that creates a contract of a product type.
func religiousForm(productType string) members {
	form := forms[counterparts[productType]]
	if isActiveOnCreate(productType) {
		form = form.with("compliance_review", reviewJSON)
	}
	return form
}

// isActiveOnCreate tells whether a contract of the product type is reviewed, funded and active as soon
// as it is created.
func isActiveOnCreate(productType string) bool {
	return productType == "musharaka" || productType == "wadiah"
}

// createReligious creates a contract of the religious reading. The changes to the product type's form
// are name, value pairs.
func (f *fixture) createReligious(productType string, changes ...string) *contractFixture {
	f.t.Helper()
	id := f.session().post(religiousPath+productType, religiousForm(productType).with(changes...).json()).want(201, "").at("data.id")
	return &contractFixture{f.session(), religiousPath + productType + "/" + id}
}

// actWith performs an action with a body.
func (contract *contractFixture) actWith(action string, body members) *response {
	contract.fixture.t.Helper()
	if len(body) == 0 {
		return contract.act(action)
	}
	return contract.post(contract.path+"/"+action, body.json())
}

// approve concludes the contract's review with an approval.
func (contract *contractFixture) approve() *contractFixture {
	contract.fixture.t.Helper()
	contract.actWith("approve", fatwa).want(200, "")
	return contract
}

// Specification, "Operator address family": product_type is one of six; any other value is 400
// on every route.
func TestUnknownProductTypeIs400(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const want = `{"error":"bad_request","message":"there is no such product_type"}`
	f.wantNothingStored(t, func() {
		for _, name := range []string{"salam", "partnerships", "investment-deposits", "mudaraba-deposit", "Sukuk", "sukuk%20", "regions-of", "x"} {
			path := religiousPath + name
			f.session().get(path).want(400, want)
			f.session().get(path+"?page=0").want(400, want)
			f.session().post(path, religiousForm("mudaraba").json()).want(400, want)
			f.session().post(path, `{"`).want(400, want)
			for _, suffix := range []string{"", "/review", "/entries", "/schedule.csv"} {
				f.session().get(path+"/"+customerID+suffix).want(400, want)
			}
			f.session().post(path+"/"+customerID+"/approve", fatwa.json()).want(400, want)
		}
		for _, name := range []string{"stats", "regions", "screen", "charity"} {
			f.session().post(religiousPath+name, "{}").want(400, want)
		}
	})
}

// Specification, "Response shape": a response has the stored record, product_type and organization_id,
// all in data. Each product type has its own prefix of contract numbers.
func TestEachProductTypeIsCreatedAndReadUnderItsName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	prefixes := map[string]string{"murabaha": "MRB", "mudaraba": "MDR", "musharaka": "MSH", "ijara": "IJR", "sukuk": "SUK", "wadiah": "WAD"}
	for _, name := range productTypes {
		status := "draft"
		if isActiveOnCreate(name) {
			status = "active"
		}
		for i, number := range []string{"000001", "000002"} {
			r := f.session().post(religiousPath+name, religiousForm(name).json()).want(201, "")
			r.wantData("product_type", name, "organization_id", f.seed.First.Org.String(), "status", status, "env", "prod", "region", "AE", "currency", "AED",
				"contract_number", prefixes[name]+"-2026-"+number)
			f.session().get(religiousPath+name+"/"+r.at("data.id")).want(200, r.body)
			list := f.session().get(religiousPath+name).want(200, "")
			if list.rows() != i+1 || list.at("data.0.id") != r.at("data.id") || list.at("data.0.product_type") != name || list.at("meta.product_type") != name {
				t.Errorf("%s: listed %s", name, list.body)
			}
		}
	}
}

// Specification, "Actions": each product type has exactly the actions in the table. Any other
// action gets 422 `Unsupported action: {name}`, even if the product has it in the other reading.
func TestEachProductTypeHasExactlyItsActions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	names := map[string]bool{
		"submit": true, "review": true, "offering": true, "profit": true, "loss": true, "acquire": true, "payment": true, "arrears": true,
		"expense": true, "transfer": true, "transfer_pending": true, "return": true, "buyout": true, "dissolve": true, "rent": true, "rent_due": true,
		"deposit": true, "withdraw": true, "close": true, "cancel": true, "settle_early": true, "liquidate": true, "pay_off": true, "create": true,
		"complete_buyout": true, "continue": true, "Approve": true, "nonsense": true,
	}
	for _, actions := range religiousActions {
		for name := range actions {
			names[name] = true
		}
	}
	for _, productType := range productTypes {
		contract := f.createReligious(productType)
		f.wantNothingStored(t, func() {
			for name := range names {
				if _, listed := religiousActions[productType][name]; listed {
					if r := contract.act(name, "nothing", `"known"`); r.status == 404 || r.at("details.action") != "(absent)" {
						t.Errorf("%s: %s gets %d %s", productType, name, r.status, r.body)
					}
					continue
				}
				message := "Unsupported action: " + name
				contract.act(name).want(422, `{"error":"unprocessable_entity","message":"`+message+`","details":{"action":["`+message+`"]}}`)
			}
		})
	}
}

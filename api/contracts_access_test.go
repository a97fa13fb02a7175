package api_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger/directory"
)

// Specification: "The secular reading is gated by the organization module `participatory_finance`". A reading is a family of
// endpoints for contracts, the secular or the religious one. Without the module every endpoint of the secular family returns 403
// `module_not_active`, and does not reveal which contracts exist.
func TestContractsNeedTheModule(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lease := f.createSecular("leases").mustActAll(`acquire ownership_documents ["deed"]`)
	orgPath := "/api/v1/organizations/" + f.seed.First.Org.String()
	f.admin().patch(orgPath, `{"modules":["islamic_finance"]}`).want(200, "")
	inSecondOrg := f.bearer(string(f.seed.Second.SessionToken), f.seed.Second.Org) // that organization never had the module
	f.wantNothingStored(t, func() {
		for _, r := range f.server.Routes() {
			if !strings.HasPrefix(r.Path, secularPath) {
				continue
			}
			for _, c := range []caller{f.session(), inSecondOrg} {
				for _, id := range []string{lease.id(), uuid.NewString(), "x"} {
					a := c.do(r.Method, withParameter(r.Path, id), "")
					if a.status != 403 || a.at("error") != "module_not_active" || a.at("message") != "the module participatory_finance is not active" {
						t.Errorf("%s %s: %d %s", r.Method, r.Path, a.status, a.body)
					}
				}
			}
		}
	})
	// While the module is not active the contract's timers still fire, because the contract still exists.
	f.admin().patch(orgPath, `{"modules":["participatory_finance"]}`).want(200, "")
	lease.mustAct("activate")
	f.admin().patch(orgPath, `{"modules":[]}`).want(200, "")
	f.advanceDays(30)
	f.admin().patch(orgPath, `{"modules":["participatory_finance"]}`).want(200, "")
	lease.read().wantData("rent_receivable", "100")
}

// Users with the role admin or client create contracts and act on them; auditors read them. Partners get 403, both with a session
// and with an API key.
func TestEachRoleHasItsRightsOnContracts(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	contract := &contractFixture{f.callerOf(asClient), secularPath + "leases/" + f.callerOf(asClient).post(secularPath+"leases", forms["leases"].json()).want(201, "").at("data.id")}
	contract.mustAct("acquire", "ownership_documents", `["deed"]`)
	auditor := f.callerOf(asAuditor)
	for _, path := range []string{contract.path, contract.path + "/entries", contract.path + "/schedule.csv", secularPath + "leases"} {
		auditor.get(path).want(200, contract.get(path).body)
		for _, k := range []kind{asPartner, byKey, byNeighbour, byAdmin} {
			if r := f.callerOf(k).get(path); r.status != 403 || r.at("error") != "forbidden" {
				t.Errorf("%s as %s: %d %s", path, k, r.status, r.body)
			}
		}
	}
	for _, k := range []kind{asAuditor, asPartner, byKey, byAdmin} {
		for _, path := range []string{secularPath + "leases", contract.path + "/activate"} {
			if r := f.callerOf(k).post(path, "{}"); r.status != 403 || r.at("error") != "forbidden" {
				t.Errorf("%s as %s: %d %s", path, k, r.status, r.body)
			}
		}
	}
	f.anyone().get(contract.path).want(401, unauthorized)
	f.bearer(f.sessions[asClient], f.second.org).get(contract.path).want(401, unauthorized)
	f.bearer(f.second.key, f.first.org).get(contract.path).want(401, unauthorized)
}

// "Readings are isolated": a contract's id gets 404 in the other family of endpoints, and no list there has the contract. The
// same holds at another product's path, and in another organization.
func TestContractIsFoundAtItsOwnPathOnly(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	religiousNames := map[string]string{
		"certificate-issues": "sukuk", "managed-investments": "mudaraba", "leases": "ijara", "partnerships": "musharaka",
		"instalment-sales": "murabaha", "safekeeping-deposits": "wadiah", "investment-deposits": "mudaraba",
	}
	caller, foreignCaller := f.callerOf(asAdmin), f.callerOf(asForeignAdmin)
	for _, product := range products {
		id := caller.post(secularPath+product, forms[product].json()).want(201, "").at("data.id")
		religiousListPath := "/api/v1/baas/islamic-banking/" + religiousNames[product]
		unknown := caller.get(secularPath+product+"/"+uuid.NewString()).want(404, "")
		for _, otherProduct := range products {
			for _, suffix := range []string{"", "/entries", "/schedule.csv"} {
				if otherProduct != product {
					caller.get(secularPath+otherProduct+"/"+id+suffix).want(404, unknown.body)
				}
				foreignCaller.get(secularPath+otherProduct+"/"+id+suffix).want(404, unknown.body)
			}
			if otherProduct != product {
				caller.post(secularPath+otherProduct+"/"+id+"/activate", "").want(404, unknown.body)
				caller.post(secularPath+otherProduct+"/"+id+"/fly", "").want(404, unknown.body)
			}
			foreignCaller.post(secularPath+otherProduct+"/"+id+"/activate", "").want(404, unknown.body)
		}
		caller.get(religiousListPath+"/"+id).want(404, "")
		caller.post(religiousListPath+"/"+id+"/approve", `{"approved_by":"a","fatwa_reference":"b"}`).want(404, "")
		if r := caller.get(religiousListPath); r.at("meta.total") != "0" || r.rows() != 0 {
			t.Errorf("%s: %s", religiousListPath, r.body)
		}
		if r := foreignCaller.get(secularPath + product + "?env=prod"); r.rows() != 0 {
			t.Errorf("another organization's list of %s: %s", product, r.body)
		}
	}
	religiousID := caller.post("/api/v1/baas/islamic-banking/ijara", forms["leases"].json()).want(201, "").at("data.id")
	for _, product := range products {
		caller.get(secularPath+product+"/"+religiousID).want(404, "")
		caller.post(secularPath+product+"/"+religiousID+"/submit", "").want(404, "")
	}
	if r := caller.get(secularPath + "leases"); r.rows() != 1 {
		t.Errorf("the secular list has %d leases, want the secular one", r.rows())
	}
	// The secular and the religious reading each have their own sequence of contract numbers.
	caller.get(secularPath+"leases").wantData("0.contract_number", "LS-2026-000001")
	for _, id := range []string{"x", "1", strings.ToUpper(uuid.NewString())[:35], "%00", uuid.NewString() + "0"} {
		caller.get(secularPath+"leases/"+id).want(404, "")
	}
}

// An organization works in its allowed_regions, or in all regions if it has none.
func TestContractRegionMustBeAllowedForTheOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	orgPath := "/api/v1/organizations/" + f.seed.First.Org.String()
	lease := f.createSecular("leases", "region", `"MY"`)
	f.admin().patch(orgPath, `{"allowed_regions":["AE","SA"]}`).want(200, "")
	for _, product := range products {
		f.createSecular(product, "region", `"SA"`)
		r := f.session().post(secularPath+product, forms[product].with("region", `"MY"`).json()).wantFaults("region")
		if got := r.at("details.region.0"); got != "is not one in which the organization works" {
			t.Errorf("%s: %s", product, got)
		}
	}
	lease.mustAct("submit") // an existing contract is not affected
	f.admin().patch(orgPath, `{"allowed_regions":[]}`).want(200, "")
	f.createSecular("leases", "region", `"MY"`)
}

// "`env` (`test` or `prod`)": a contract created without env is prod; other values are refused.
func TestTestAndProdContractsAreSeparate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, env := range []string{`"live"`, `"PROD"`, `""`, `1`, `[]`, `true`} {
		f.session().post(secularPath+"leases", forms["leases"].with("env", env).json()).wantFaults("env")
	}
	contract := f.createSecular("leases", "env", `"test"`).mustActAll(`acquire ownership_documents ["deed"]`)
	contract.read().wantData("env", "test")
	f.createSecular("leases", "env", `null`).read().wantData("env", "prod")
	contract.wantEntries("acquire 2026-09-03: Dr A:ijara_asset:{c} 1200, Cr A:cash:AE 1200")
	f.auditor().get("/api/v1/ledger/accounts/A:ijara_asset:"+contract.id()+"?env=test").want(200, "").wantData("0.asset.env", "test", "0.balance", "1200")
	f.auditor().get("/api/v1/ledger/accounts/A:ijara_asset:"+contract.id()+"?env=prod").want(404, "")
}

// A session that has ended, or whose organization is not active, is unauthorized.
func TestContractsNeedALiveSession(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	client := f.callerOf(asClient)
	client.get(secularPath+"leases").want(200, "")
	client.do("DELETE", "/api/v1/sessions/current", "").want(204, "")
	client.get(secularPath+"leases").want(401, unauthorized)
	f.sessions[asClient] = f.logInAgain(directory.Client)
	f.callerOf(asClient).get(secularPath+"leases").want(200, "")
	f.operator(f.first.org).patch("/api/v1/organizations/"+f.first.org.String(), `{"status":"maintenance"}`).want(200, "")
	f.callerOf(asClient).get(secularPath+"leases").want(401, unauthorized)
}

// logInAgain logs in the fixture's user with the role once more, and returns the new session's token.
func (f *accessFixture) logInAgain(role directory.Role) string {
	return f.anyone().with("x-organization-id", f.first.org.String()).
		post("/api/v1/sessions", `{"login":"user-`+string(role)+`","pass":"correct-horse-battery-9"}`).want(201, "").at("data.token")
}

package api_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger/directory"
)

// "The secular reading is gated by the organization module `participatory_finance`": without it
// every endpoint answers 403 `module_not_active`, and does not reveal which contracts exist.
func TestContractsNeedTheModule(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	d := h.createSecular("leases").mustActAll(`acquire ownership_documents ["deed"]`)
	org := "/api/v1/organizations/" + h.seed.First.Org.String()
	h.admin().patch(org, `{"modules":["islamic_finance"]}`).want(200, "")
	away := h.bearer(string(h.seed.Second.SessionToken), h.seed.Second.Org) // this organization never had the module
	h.wantNothingStored(t, func() {
		for _, r := range h.server.Routes() {
			if !strings.HasPrefix(r.Path, pfp) {
				continue
			}
			for _, c := range []caller{h.session(), away} {
				for _, id := range []string{d.id(), uuid.NewString(), "x"} {
					a := c.do(r.Method, withParameter(r.Path, id), "")
					if a.status != 403 || a.at("error") != "module_not_active" || a.at("message") != "the module participatory_finance is not active" {
						t.Errorf("%s %s: %d %s", r.Method, r.Path, a.status, a.body)
					}
				}
			}
		}
	})
	// Timers of the contract fire nevertheless, because it still exists.
	h.admin().patch(org, `{"modules":["participatory_finance"]}`).want(200, "")
	d.mustAct("activate")
	h.admin().patch(org, `{"modules":[]}`).want(200, "")
	h.advanceDays(30)
	h.admin().patch(org, `{"modules":["participatory_finance"]}`).want(200, "")
	d.read().wantData("rent_receivable", "100")
}

// Admin and client create contracts and act on them, an auditor reads them, and a session of
// role partner gets 403, as a partner's key does: a session token, not an API key.
func TestEachRoleHasItsRightsOnContracts(t *testing.T) {
	t.Parallel()
	q := newAccessFixture(t)
	d := &contractFixture{q.as(asClient), pfp + "leases/" + q.as(asClient).post(pfp+"leases", forms["leases"].json()).want(201, "").at("data.id")}
	d.mustAct("acquire", "ownership_documents", `["deed"]`)
	auditor := q.as(asAuditor)
	for _, path := range []string{d.path, d.path + "/entries", d.path + "/schedule.csv", pfp + "leases"} {
		auditor.get(path).want(200, d.get(path).body)
		for _, k := range []kind{asPartner, byKey, byNeighbour, byAdmin} {
			if a := q.as(k).get(path); a.status != 403 || a.at("error") != "forbidden" {
				t.Errorf("%s as %s: %d %s", path, k, a.status, a.body)
			}
		}
	}
	for _, k := range []kind{asAuditor, asPartner, byKey, byAdmin} {
		for _, path := range []string{pfp + "leases", d.path + "/activate"} {
			if a := q.as(k).post(path, "{}"); a.status != 403 || a.at("error") != "forbidden" {
				t.Errorf("%s as %s: %d %s", path, k, a.status, a.body)
			}
		}
	}
	q.anyone().get(d.path).want(401, unauthorized)
	q.bearer(q.sessions[asClient], q.second.org).get(d.path).want(401, unauthorized)
	q.bearer(q.second.key, q.first.org).get(d.path).want(401, unauthorized)
}

// "Readings are isolated": a contract is 404 at the other family's path and in no list there.
// The same holds at the path of another product, and for a contract of another organization.
func TestContractIsFoundAtItsOwnPathOnly(t *testing.T) {
	t.Parallel()
	q := newAccessFixture(t)
	religious := map[string]string{
		"certificate-issues": "sukuk", "managed-investments": "mudaraba", "leases": "ijara", "partnerships": "musharaka",
		"instalment-sales": "murabaha", "safekeeping-deposits": "wadiah", "investment-deposits": "mudaraba",
	}
	me, foreign := q.as(asAdmin), q.as(asForeignAdmin)
	for _, product := range products {
		id := me.post(pfp+product, forms[product].json()).want(201, "").at("data.id")
		baas := "/api/v1/baas/islamic-banking/" + religious[product]
		random := me.get(pfp+product+"/"+uuid.NewString()).want(404, "")
		for _, other := range products {
			for _, end := range []string{"", "/entries", "/schedule.csv"} {
				if other != product {
					me.get(pfp+other+"/"+id+end).want(404, random.body)
				}
				foreign.get(pfp+other+"/"+id+end).want(404, random.body)
			}
			if other != product {
				me.post(pfp+other+"/"+id+"/activate", "").want(404, random.body)
				me.post(pfp+other+"/"+id+"/fly", "").want(404, random.body)
			}
			foreign.post(pfp+other+"/"+id+"/activate", "").want(404, random.body)
		}
		me.get(baas+"/"+id).want(404, "")
		me.post(baas+"/"+id+"/approve", `{"approved_by":"a","fatwa_reference":"b"}`).want(404, "")
		if a := me.get(baas); a.at("meta.total") != "0" || a.rows() != 0 {
			t.Errorf("%s: %s", baas, a.body)
		}
		if a := foreign.get(pfp + product + "?env=prod"); a.rows() != 0 {
			t.Errorf("another organization's list of %s: %s", product, a.body)
		}
	}
	made := me.post("/api/v1/baas/islamic-banking/ijara", forms["leases"].json()).want(201, "").at("data.id")
	for _, product := range products {
		me.get(pfp+product+"/"+made).want(404, "")
		me.post(pfp+product+"/"+made+"/submit", "").want(404, "")
	}
	if a := me.get(pfp + "leases"); a.rows() != 1 {
		t.Errorf("the secular list has %d leases, want the secular one", a.rows())
	}
	// Each reading has its own sequence of numbers.
	me.get(pfp+"leases").wantData("0.contract_number", "LS-2026-000001")
	for _, id := range []string{"x", "1", strings.ToUpper(uuid.NewString())[:35], "%00", uuid.NewString() + "0"} {
		me.get(pfp+"leases/"+id).want(404, "")
	}
}

// An organization works in its allowed_regions, or in all regions if it has none.
func TestContractRegionMustBeAllowedForTheOrganization(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	org := "/api/v1/organizations/" + h.seed.First.Org.String()
	kept := h.createSecular("leases", "region", `"MY"`)
	h.admin().patch(org, `{"allowed_regions":["AE","SA"]}`).want(200, "")
	for _, product := range products {
		h.createSecular(product, "region", `"SA"`)
		a := h.session().post(pfp+product, forms[product].with("region", `"MY"`).json()).wantFaults("region")
		if got := a.at("details.region.0"); got != "is not one in which the organization works" {
			t.Errorf("%s: %s", product, got)
		}
	}
	kept.mustAct("submit") // an existing contract continues
	h.admin().patch(org, `{"allowed_regions":[]}`).want(200, "")
	h.createSecular("leases", "region", `"MY"`)
}

// "`env` (`test` or `prod`)": prod unless sent; other values are refused.
func TestTestAndProdContractsAreSeparate(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, env := range []string{`"live"`, `"PROD"`, `""`, `1`, `[]`, `true`} {
		h.session().post(pfp+"leases", forms["leases"].with("env", env).json()).wantFaults("env")
	}
	d := h.createSecular("leases", "env", `"test"`).mustActAll(`acquire ownership_documents ["deed"]`)
	d.read().wantData("env", "test")
	h.createSecular("leases", "env", `null`).read().wantData("env", "prod")
	d.wantEntries("acquire 2026-09-03: Dr A:ijara_asset:{c} 1200, Cr A:cash:AE 1200")
	h.auditor().get("/api/v1/ledger/accounts/A:ijara_asset:"+d.id()+"?env=test").want(200, "").wantData("0.asset.env", "test", "0.balance", "1200")
	h.auditor().get("/api/v1/ledger/accounts/A:ijara_asset:"+d.id()+"?env=prod").want(404, "")
}

// A session that has ended, or whose organization is not active, is unauthorized.
func TestContractsNeedALiveSession(t *testing.T) {
	t.Parallel()
	q := newAccessFixture(t)
	client := q.as(asClient)
	client.get(pfp+"leases").want(200, "")
	client.do("DELETE", "/api/v1/sessions/current", "").want(204, "")
	client.get(pfp+"leases").want(401, unauthorized)
	q.sessions[asClient] = q.logInAgain(directory.Client)
	q.as(asClient).get(pfp+"leases").want(200, "")
	q.operator(q.first.org).patch("/api/v1/organizations/"+q.first.org.String(), `{"status":"maintenance"}`).want(200, "")
	q.as(asClient).get(pfp+"leases").want(401, unauthorized)
}

// logInAgain returns the token of another session of the matrix's user with the role.
func (q *accessFixture) logInAgain(role directory.Role) string {
	return q.anyone().with("x-organization-id", q.first.org.String()).
		post("/api/v1/sessions", `{"login":"user-`+string(role)+`","pass":"correct-horse-battery-9"}`).want(201, "").at("data.token")
}

package api_test

import (
	"strings"
	"testing"
)

// religiousRequests returns requests to every endpoint of the religious family, about an existing contract and about an unknown
// one. Each request is a method, a path and a body.
func (f *fixture) religiousRequests(contract *contractFixture) (requests [][3]string) {
	const get, post = "GET", "POST"
	for _, path := range []string{
		religiousPath + "stats", religiousPath + "stats?env=nowhere", religiousPath + "regions", religiousPath + "charity", religiousPath + "charity?from=x",
		religiousPath + "screen?subject=asset", religiousPath + "screen", religiousPath + "screen/" + customerID, religiousPath + "mudaraba", religiousPath + "mudaraba?page=0", religiousPath + "salam",
		contract.path, contract.path + "/review", contract.path + "/entries", contract.path + "/schedule.csv", religiousPath + "mudaraba/" + customerID, religiousPath + "salam/" + customerID,
	} {
		requests = append(requests, [3]string{get, path, ""})
	}
	for path, body := range map[string]string{
		religiousPath + "mudaraba": religiousForm("mudaraba").json(), religiousPath + "salam": "{}", religiousPath + "sukuk": `{"`,
		contract.path + "/approve": fatwa.json(), contract.path + "/nonsense": "{}", religiousPath + "mudaraba/" + customerID + "/approve": "{}",
	} {
		requests = append(requests, [3]string{post, path, body})
	}
	return requests
}

// wantRefused sends all religiousRequests as a caller. It checks that each gets the status and a body that begins
// with the prefix.
func (contract *contractFixture) wantRefused(sender caller, status int, prefix string) {
	contract.fixture.t.Helper()
	for _, r := range contract.fixture.religiousRequests(contract) {
		if a := sender.do(r[0], r[1], r[2]); a.status != status || !strings.HasPrefix(a.body, prefix) {
			contract.fixture.t.Errorf("%s %s: %d %s, want %d %s", r[0], r[1], a.status, a.body, status, prefix)
		}
	}
}

// Specification, "Authentication": without the module every endpoint returns 403 with
// module_not_active, before any other check.
func TestReligiousRoutesNeedTheModule(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("mudaraba")
	orgPath := "/api/v1/organizations/" + f.seed.First.Org.String()
	inSecondOrg := f.bearer(string(f.seed.Second.SessionToken), f.seed.Second.Org)
	const moduleRefusal = `{"error":"module_not_active","message":"`
	f.wantNothingStored(t, func() { contract.wantRefused(inSecondOrg, 403, moduleRefusal) }) // the second organization is not a bank either
	for _, modules := range []string{`[]`, `["participatory_finance"]`} {
		f.admin().patch(orgPath, `{"modules":`+modules+`}`).want(200, "")
		f.wantNothingStored(t, func() { contract.wantRefused(f.session(), 403, moduleRefusal) })
	}
	f.admin().patch(orgPath, `{"modules":["islamic_finance"]}`).want(200, "")
	contract.read().wantData("status", "draft")
	f.session().get(secularPath+"managed-investments").want(403, "") // the secular family requires another module
}

// For an authenticated caller the module is checked before the role, the key and the organization's
// type. An unauthorized caller does not learn about the module.
func TestModuleIsCheckedBeforeRoles(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	contract := f.createReligious("mudaraba")
	authenticated := []kind{asAdmin, asClient, asAuditor, asPartner, byKey, byNeighbour, byInactivePartner, byAdmin}
	const orgsPath = "/api/v1/organizations/"
	f.operator(f.first.org).patch(orgsPath+f.first.org.String(), `{"type":"merchant","modules":["participatory_finance"]}`).want(200, "")
	before := f.storedCounts()
	for _, k := range authenticated {
		contract.wantRefused(f.callerOf(k), 403, `{"error":"module_not_active","message":"the module islamic_finance is not active"`)
		if a := f.callerOf(k).do("HEAD", religiousPath+"stats", ""); a.status != 403 {
			t.Errorf("HEAD as %s: %d", k, a.status)
		}
	}
	if after := f.storedCounts(); after != before {
		t.Errorf("who was refused has left %+v, before %+v", after, before)
	}
	f.operator(f.first.org).patch(orgsPath+f.first.org.String(), `{"type":"bank","modules":["islamic_finance"]}`).want(200, "")
	before = f.storedCounts()
	for _, k := range authenticated {
		for _, r := range f.server.Routes() {
			if !strings.HasPrefix(r.Path, secularPath) {
				continue
			}
			if a := f.callerOf(k).do(r.Method, withParameter(r.Path, customerID), ""); a.status != 403 || a.at("error") != "module_not_active" {
				t.Errorf("%s %s as %s: %d %s", r.Method, r.Path, k, a.status, a.body)
			}
		}
	}
	for _, k := range []kind{nobody, byMisplacedKey, asMisplaced} {
		contract.wantRefused(f.callerOf(k), 401, unauthorized)
		f.callerOf(k).get(secularPath+"leases").want(401, unauthorized)
	}
	// If the admin token comes with no existing organization, there is no module to check.
	for _, org := range []string{"", customerID, "x"} {
		f.anyone().with("authorization", "Bearer "+string(f.seed.AdminToken)).with("x-organization-id", org).get(secularPath+"leases").want(403, `{"error":"forbidden","message":"this needs a session of the organization"}`)
	}
	if after := f.storedCounts(); after != before {
		t.Errorf("who was refused has left %+v, before %+v", after, before)
	}
}

// The organization must be a bank.
func TestReligiousRoutesNeedABank(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("mudaraba")
	f.admin().patch("/api/v1/organizations/"+f.seed.First.Org.String(), `{"type":"merchant"}`).want(200, "")
	f.wantNothingStored(t, func() { contract.wantRefused(f.session(), 403, `{"error":"forbidden","message":"`) })
	f.session().get(secularPath+"managed-investments").want(200, "")
}

// The religious family requires role admin or client. Auditors, partners, partners' keys and the
// admin token are refused. An unauthorized caller does not learn about roles.
func TestReligiousRoutesNeedAdminOrClient(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	contract := f.createReligious("mudaraba")
	before := f.storedCounts()
	for _, k := range []kind{asAuditor, asPartner, byKey, byNeighbour, byInactivePartner, byAdmin} {
		contract.wantRefused(f.callerOf(k), 403, `{"error":"forbidden","message":"`)
	}
	for _, k := range []kind{nobody, byMisplacedKey, asMisplaced} {
		contract.wantRefused(f.callerOf(k), 401, unauthorized)
	}
	if after := f.storedCounts(); after != before {
		t.Errorf("who was refused has left %+v, before %+v", after, before)
	}
	for _, k := range []kind{asAdmin, asClient} {
		ownView := &contractFixture{f.callerOf(k), contract.path}
		ownView.read().wantData("product_type", "mudaraba")
		f.callerOf(k).post(religiousPath+"mudaraba", religiousForm("mudaraba").json()).want(201, "")
		for _, path := range []string{"stats", "regions", "charity", "screen?subject=asset", "ijara"} {
			f.callerOf(k).get(religiousPath+path).want(200, "")
		}
		if entries := ownView.get(contract.path+"/entries").want(200, ""); entries.rows() != 0 {
			t.Errorf("it has moved %s", entries.body)
		}
	}
	f.callerOf(asClient).post(contract.path+"/approve", fatwa.json()).want(200, "")
	f.callerOf(asClient).post(contract.path+"/fund", "").want(200, "")
	if entries := f.callerOf(asClient).get(contract.path+"/entries").want(200, ""); entries.rows() != 1 {
		t.Errorf("a client sees %s", entries.body)
	}
}

// The id of another bank's contract gets the same response as an unknown one.
func TestForeignContractEqualsAnUnknownOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("mudaraba")
	screeningID := f.session().get(religiousPath+"screen?subject=asset").want(200, "").at("data.screening_id")
	f.admin().patch("/api/v1/organizations/"+f.seed.Second.Org.String(), `{"type":"bank","modules":["islamic_finance"]}`).want(200, "")
	inSecondOrg := f.bearer(string(f.seed.Second.SessionToken), f.seed.Second.Org)
	for _, suffix := range []string{"", "/review", "/entries", "/schedule.csv"} {
		want := inSecondOrg.get(religiousPath+"mudaraba/"+customerID+suffix).want(404, "")
		inSecondOrg.get(contract.path+suffix).want(404, want.body)
	}
	inSecondOrg.post(contract.path+"/approve", fatwa.json()).want(404, "")
	inSecondOrg.get(religiousPath+"screen/"+screeningID).want(404, inSecondOrg.get(religiousPath+"screen/"+customerID).body)
	inSecondOrg.post(religiousPath+"mudaraba", religiousForm("mudaraba").with("screening_id", `"`+screeningID+`"`).json()).wantFaults("screening_id")
	inSecondOrg.get(religiousPath+"stats").want(200, "").wantData("total", "0")
	if r := inSecondOrg.post(religiousPath+"mudaraba", religiousForm("mudaraba").json()).want(201, ""); r.at("data.contract_number") != "MDR-2026-000001" || r.at("data.organization_id") != f.seed.Second.Org.String() {
		t.Errorf("made %s", r.body)
	}
}

package api_test

import (
	"strings"
	"testing"
)

// religiousRequests returns requests to every route of the family, about an existing contract
// and about an unknown one.
func (h *fixture) religiousRequests(d *contractFixture) (requests [][3]string) {
	const get, post = "GET", "POST"
	for _, path := range []string{
		islamic + "stats", islamic + "stats?env=nowhere", islamic + "regions", islamic + "charity", islamic + "charity?from=x",
		islamic + "screen?subject=asset", islamic + "screen", islamic + "screen/" + someone, islamic + "mudaraba", islamic + "mudaraba?page=0", islamic + "salam",
		d.path, d.path + "/review", d.path + "/entries", d.path + "/schedule.csv", islamic + "mudaraba/" + someone, islamic + "salam/" + someone,
	} {
		requests = append(requests, [3]string{get, path, ""})
	}
	for path, body := range map[string]string{
		islamic + "mudaraba": religiousForm("mudaraba").json(), islamic + "salam": "{}", islamic + "sukuk": `{"`,
		d.path + "/approve": fatwa.json(), d.path + "/nonsense": "{}", islamic + "mudaraba/" + someone + "/approve": "{}",
	} {
		requests = append(requests, [3]string{post, path, body})
	}
	return requests
}

// wantRefused sends all these requests as a caller, and checks that all get the same refusal.
func (d *contractFixture) wantRefused(who caller, status int, begins string) {
	d.h.t.Helper()
	for _, r := range d.h.religiousRequests(d) {
		if a := who.do(r[0], r[1], r[2]); a.status != status || !strings.HasPrefix(a.body, begins) {
			d.h.t.Errorf("%s %s: %d %s, want %d %s", r[0], r[1], a.status, a.body, status, begins)
		}
	}
}

// Specification, "Authentication": without the module every endpoint answers 403 with
// module_not_active; DECISIONS, 6: this check is the first.
func TestReligiousRoutesNeedTheModule(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	d := h.createReligious("mudaraba")
	organization := "/api/v1/organizations/" + h.seed.First.Org.String()
	second := h.bearer(string(h.seed.Second.SessionToken), h.seed.Second.Org)
	const missing = `{"error":"module_not_active","message":"`
	h.wantNothingStored(t, func() { d.wantRefused(second, 403, missing) }) // it is not a bank either
	for _, modules := range []string{`[]`, `["participatory_finance"]`} {
		h.admin().patch(organization, `{"modules":`+modules+`}`).want(200, "")
		h.wantNothingStored(t, func() { d.wantRefused(h.session(), 403, missing) })
	}
	h.admin().patch(organization, `{"modules":["islamic_finance"]}`).want(200, "")
	d.read().wantData("status", "draft")
	h.session().get(pfp+"managed-investments").want(403, "") // which requires another module
}

// For an authenticated caller the check of the module precedes those of roles, keys and banks.
// An unauthorized caller does not learn about the module.
func TestModuleIsCheckedBeforeRoles(t *testing.T) {
	t.Parallel()
	q := newAccessFixture(t)
	d := q.createReligious("mudaraba")
	known := []kind{asAdmin, asClient, asAuditor, asPartner, byKey, byNeighbour, byOffKey, byAdmin}
	const organization = "/api/v1/organizations/"
	q.operator(q.first.org).patch(organization+q.first.org.String(), `{"type":"merchant","modules":["participatory_finance"]}`).want(200, "")
	before := q.storedCounts()
	for _, k := range known {
		d.wantRefused(q.as(k), 403, `{"error":"module_not_active","message":"the module islamic_finance is not active"`)
		if a := q.as(k).do("HEAD", islamic+"stats", ""); a.status != 403 {
			t.Errorf("HEAD as %s: %d", k, a.status)
		}
	}
	if after := q.storedCounts(); after != before {
		t.Errorf("who was refused has left %+v, before %+v", after, before)
	}
	q.operator(q.first.org).patch(organization+q.first.org.String(), `{"type":"bank","modules":["islamic_finance"]}`).want(200, "")
	before = q.storedCounts()
	for _, k := range known {
		for _, r := range q.server.Routes() {
			if !strings.HasPrefix(r.Path, pfp) {
				continue
			}
			if a := q.as(k).do(r.Method, withParameter(r.Path, someone), ""); a.status != 403 || a.at("error") != "module_not_active" {
				t.Errorf("%s %s as %s: %d %s", r.Method, r.Path, k, a.status, a.body)
			}
		}
	}
	for _, k := range []kind{nobody, byStrayKey, asStray} {
		d.wantRefused(q.as(k), 401, unauthorized)
		q.as(k).get(pfp+"leases").want(401, unauthorized)
	}
	// The operator's token names no existing organization, so no module is missing.
	for _, org := range []string{"", someone, "x"} {
		q.anyone().with("authorization", "Bearer "+string(q.seed.AdminToken)).with("x-organization-id", org).get(pfp+"leases").want(403, `{"error":"forbidden","message":"this needs a session of the organization"}`)
	}
	if after := q.storedCounts(); after != before {
		t.Errorf("who was refused has left %+v, before %+v", after, before)
	}
}

// The organization must be a bank.
func TestReligiousRoutesNeedABank(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	d := h.createReligious("mudaraba")
	h.admin().patch("/api/v1/organizations/"+h.seed.First.Org.String(), `{"type":"merchant"}`).want(200, "")
	h.wantNothingStored(t, func() { d.wantRefused(h.session(), 403, `{"error":"forbidden","message":"`) })
	h.session().get(pfp+"managed-investments").want(200, "")
}

// The family requires role admin or client. Auditors, partners, partners' keys and the
// operator's token are refused, and an unauthorized caller is not told why.
func TestReligiousRoutesNeedAdminOrClient(t *testing.T) {
	t.Parallel()
	q := newAccessFixture(t)
	d := q.createReligious("mudaraba")
	before := q.storedCounts()
	for _, k := range []kind{asAuditor, asPartner, byKey, byNeighbour, byOffKey, byAdmin} {
		d.wantRefused(q.as(k), 403, `{"error":"forbidden","message":"`)
	}
	for _, k := range []kind{nobody, byStrayKey, asStray} {
		d.wantRefused(q.as(k), 401, unauthorized)
	}
	if after := q.storedCounts(); after != before {
		t.Errorf("who was refused has left %+v, before %+v", after, before)
	}
	for _, k := range []kind{asAdmin, asClient} {
		own := &contractFixture{q.as(k), d.path}
		own.read().wantData("product_type", "mudaraba")
		q.as(k).post(islamic+"mudaraba", religiousForm("mudaraba").json()).want(201, "")
		for _, path := range []string{"stats", "regions", "charity", "screen?subject=asset", "ijara"} {
			q.as(k).get(islamic+path).want(200, "")
		}
		if entries := own.get(d.path+"/entries").want(200, ""); entries.rows() != 0 {
			t.Errorf("it has moved %s", entries.body)
		}
	}
	q.as(asClient).post(d.path+"/approve", fatwa.json()).want(200, "")
	q.as(asClient).post(d.path+"/fund", "").want(200, "")
	if entries := q.as(asClient).get(d.path+"/entries").want(200, ""); entries.rows() != 1 {
		t.Errorf("a client sees %s", entries.body)
	}
}

// The id of another bank's contract is answered like an unknown one.
func TestForeignContractEqualsAnUnknownOne(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	d := h.createReligious("mudaraba")
	screening := h.session().get(islamic+"screen?subject=asset").want(200, "").at("data.screening_id")
	h.admin().patch("/api/v1/organizations/"+h.seed.Second.Org.String(), `{"type":"bank","modules":["islamic_finance"]}`).want(200, "")
	second := h.bearer(string(h.seed.Second.SessionToken), h.seed.Second.Org)
	for _, rest := range []string{"", "/review", "/entries", "/schedule.csv"} {
		want := second.get(islamic+"mudaraba/"+someone+rest).want(404, "")
		second.get(d.path+rest).want(404, want.body)
	}
	second.post(d.path+"/approve", fatwa.json()).want(404, "")
	second.get(islamic+"screen/"+screening).want(404, second.get(islamic+"screen/"+someone).body)
	second.post(islamic+"mudaraba", religiousForm("mudaraba").with("screening_id", `"`+screening+`"`).json()).wantFaults("screening_id")
	second.get(islamic+"stats").want(200, "").wantData("total", "0")
	if a := second.post(islamic+"mudaraba", religiousForm("mudaraba").json()).want(201, ""); a.at("data.contract_number") != "MDR-2026-000001" || a.at("data.organization_id") != h.seed.Second.Org.String() {
		t.Errorf("made %s", a.body)
	}
}

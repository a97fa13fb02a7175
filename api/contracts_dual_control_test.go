package api_test

import (
	"slices"
	"strings"
	"testing"
)

// waiting reads a page of the contracts that wait for a review. It returns each contract's number with the login of the user who
// created the contract, and the cursor of the next page.
func (f *fixture) waiting(as caller, query string) (list []string, cursor string) {
	f.t.Helper()
	r := as.get(religiousPath+"reviews"+query).want(200, "")
	for i := range r.rows() {
		at := "data." + string(rune('0'+i)) + "."
		list = append(list, r.at(at+"contract_number")+" "+r.at(at+"requested_by.login"))
	}
	return list, r.at("cursor.cursor_value")
}

// In an organization with the module dual_control, a contract must be approved by another user than its creator.
func TestDualControl(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createUser("anna", `"client"`, "")
	f.createUser("ben", `"client"`, "")
	anna, ben := f.logInAs("anna"), f.logInAs("ben")
	organization := "/api/v1/organizations/" + f.seed.First.Org.String()
	f.admin().patch(organization, `{"modules":["participatory_finance","islamic_finance","dual_control"]}`).want(200, "")
	path := religiousPath + "mudaraba/" + anna.post(religiousPath+"mudaraba", religiousForm("mudaraba").json()).want(201, "").at("data.id")

	r := anna.post(path+"/approve", fatwa.json())
	if r.status != 403 || r.at("error") != "forbidden" || !strings.Contains(r.at("message"), "dual control") {
		t.Errorf("the creator's approval gets %d %s", r.status, r.body)
	}
	told := (&contractFixture{anna, path}).shownActions(anna)
	if n := slices.IndexFunc(told, func(a shownAction) bool { return a.Action == "approve" }); told[n].Allowed || string(told[n].Refusal) != r.body {
		t.Errorf("the creator is told %s", told[n].Refusal)
	}
	f.session().post(path+"/approve", fatwa.json()).want(403, "") // a session without a user
	ben.get(path+"/review").want(200, "").wantData("requested_by.login", "anna", "requested_by.name", "U", "conclusion", "null")
	ben.post(path+"/approve", fatwa.json()).want(200, "").wantData("status", "review_passed")

	f.admin().patch(organization, `{"modules":["participatory_finance","islamic_finance"]}`).want(200, "")
	path = religiousPath + "mudaraba/" + anna.post(religiousPath+"mudaraba", religiousForm("mudaraba").json()).want(201, "").at("data.id")
	anna.post(path+"/approve", fatwa.json()).want(200, "")
}

// The list of waiting contracts covers all product types, newest first. It has no contract that was approved or rejected, and no
// secular contract.
func TestContractsThatWaitForAReview(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createUser("anna", `"client"`, "")
	anna := f.logInAs("anna")
	f.createReligious("ijara")
	sukuk := anna.post(religiousPath+"sukuk", religiousForm("sukuk").with("env", `"test"`).json()).want(201, "")
	f.createReligious("mudaraba").approve()
	f.createReligious("mudaraba").actWith("reject", refusal).want(200, "")
	f.createReligious("mudaraba")
	f.createReligious("wadiah")
	f.createSecular("leases")
	all := []string{"MDR-2026-000003 (absent)", "SUK-2026-000001 anna", "IJR-2026-000001 (absent)"}
	if list, cursor := f.waiting(anna, ""); !slices.Equal(list, all) || cursor != "null" {
		t.Errorf("%q wait, and %s follows; want %q", list, cursor, all)
	}
	if list, _ := f.waiting(anna, "?env=test"); !slices.Equal(list, all[1:2]) {
		t.Errorf("%q wait in test", list)
	}
	var paged []string
	query := "?limit=1"
	for range all {
		list, cursor := f.waiting(anna, query)
		paged, query = append(paged, list...), "?limit=1&cursor="+strings.ReplaceAll(cursor, "+", "%2B")
	}
	if !slices.Equal(paged, all) {
		t.Errorf("one a page: %q, want %q", paged, all)
	}
	anna.post(religiousPath+"sukuk/"+sukuk.at("data.id")+"/approve", fatwa.json()).want(200, "")
	if list, _ := f.waiting(anna, ""); !slices.Equal(list, []string{all[0], all[2]}) {
		t.Errorf("%q still wait", list)
	}
	f.auditor().get(religiousPath+"reviews").want(403, "")
}

// A contract's list of events equals the ledger's list of the contract's events, including events without an entry. This holds
// for secular and for religious contracts.
func TestEventsOfAContract(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mudaraba := f.createReligious("mudaraba").approve().mustActAll("fund", "activate")
	lease := f.createSecular("leases").mustActAll("submit")
	for contract, want := range map[*contractFixture]string{mudaraba: "activate fund review create", lease: "submit create"} {
		r := contract.get(contract.path+"/events").want(200, "")
		var names []string
		for i := range r.rows() {
			names = append(names, r.at("data."+string(rune('0'+i))+".event"))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s has the events %s, want %s", contract.path, got, want)
		}
		id := contract.path[strings.LastIndex(contract.path, "/")+1:]
		f.auditor().get("/api/v1/ledger/events?source="+id).want(200, r.body)
	}
}

package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// shownAction is an action in the response of GET …/{id}/actions.
type shownAction struct {
	Action  string
	Allowed bool
	Refusal json.RawMessage
	After   []string
	From    []string
	LeadsTo []struct{ Status, Why string } `json:"leads_to"`
	Fields  []struct {
		Name, Kind       string
		Required         bool
		Minimum, Maximum string
	}
}

// shownActions returns the contract's actions as GET …/actions shows them to the caller.
func (contract *contractFixture) shownActions(as caller) (actions []shownAction) {
	contract.fixture.t.Helper()
	var list struct{ Data []shownAction }
	must(contract.fixture.t, json.Unmarshal([]byte(as.get(contract.path+"/actions").want(200, "").body), &list))
	return list.Data
}

// GET …/actions shows which actions are possible in a contract's status, and must be right in each status of its lifecycle. An
// action that is shown as impossible gets exactly the refusal that is shown. An action that is shown as possible leads to one of
// the statuses that are shown.
func TestActionsAreRefusedAsTheyAreToldToBe(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for productType, bodies := range religiousActions {
		changes := []string(nil)
		if productType == "musharaka" { // only a diminishing partnership has an action
			changes = []string{"partnership_type", `"diminishing"`, "term_months", "3"}
		}
		contract, taken := f.createReligious(productType, changes...), map[string]bool{}
		for range len(bodies) {
			var next *shownAction
			shown := contract.shownActions(contract.caller)
			if len(shown) != len(bodies) {
				t.Fatalf("%s: %d actions, want %d", productType, len(shown), len(bodies))
			}
			for i, a := range shown {
				if !a.Allowed {
					if r := contract.actWith(a.Action, bodies[a.Action]); r.body != string(a.Refusal) || r.status < 400 {
						t.Errorf("%s: %s gets %d %s, was told %s", productType, a.Action, r.status, r.body, a.Refusal)
					}
				} else if a.Action != "reject" && !taken[a.Action] && next == nil {
					next = &shown[i]
				}
			}
			if next == nil {
				break
			}
			taken[next.Action] = true
			status := contract.actWith(next.Action, bodies[next.Action]).want(200, "").at("data.status")
			if !slices.ContainsFunc(next.LeadsTo, func(step struct{ Status, Why string }) bool { return step.Status == status && step.Why != "" }) {
				t.Errorf("%s: %s leads to %s, was told %v", productType, next.Action, status, next.LeadsTo)
			}
		}
		if len(taken) == 0 {
			t.Errorf("%s: nothing is possible", productType)
		}
	}
}

// For each action the list shows which actions must come first, which fields the action takes within which bounds, and which of
// its conditions does not hold.
func TestWhatMayBeDoneWithALease(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lease := f.createSecular("leases")
	find := func(name string) shownAction {
		shown := lease.shownActions(lease.caller)
		return shown[slices.IndexFunc(shown, func(a shownAction) bool { return a.Action == name })]
	}
	if a := find("payment"); a.Allowed || strings.Join(a.After, " ") != "acquire activate" || strings.Join(a.From, " ") != "active transfer_pending completed terminated" ||
		string(a.Refusal) != `{"error":"conflict","message":"payment is not possible in status draft"}` {
		t.Errorf("in draft: %+v", a)
	}
	lease.mustActAll(`acquire ownership_documents ["deed"]`, "activate", `payment amount "450"`)
	if a := find("payment"); !a.Allowed || fmt.Sprint(a.Fields) != "[{amount amount true 1 750}]" || fmt.Sprint(a.LeadsTo) != "[{active rent was paid}]" || a.After == nil || len(a.After) != 0 {
		t.Errorf("in active: %+v", a)
	}
	if a := find("transfer"); a.Allowed || string(a.Refusal) != `{"error":"unprocessable_entity","details":{"lease_type":["only finance lease ends with the transfer of the asset"]}}` {
		t.Errorf("in active: %+v", a)
	}
	if a := find("acquire"); a.Allowed || a.After != nil || len(a.LeadsTo) != 0 {
		t.Errorf("acquire is said to be possible again: %+v", a)
	}
}

// An auditor may read a contract but not act on it: every action is shown as refused because of the role.
func TestAnAuditorIsToldThatTheRoleMayNotAct(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lease := f.createSecular("leases")
	auditor := f.auditor()
	for _, a := range lease.shownActions(auditor) {
		if r := auditor.post(lease.path+"/"+a.Action, "{}"); a.Allowed || r.status != 403 || r.body != string(a.Refusal) {
			t.Errorf("%s gets %d %s, was told %s", a.Action, r.status, r.body, a.Refusal)
		}
	}
}

package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// Every write accepts an Idempotency-Key. A repetition gets the same response. A request
// with the same key and another body gets 409.
func TestContractWritesTakeAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	keyed := func(key string) caller { return f.session().with("idempotency-key", key) }
	for _, product := range products {
		body := forms[product].with("metadata", `{ "n" :1}`).json()
		first := keyed("create "+product).post(secularPath+product, body).want(201, "")
		repeated := keyed("create "+product).post(secularPath+product, body).want(201, first.body)
		if repeated.header.Get("x-idempotent-replay") != "true" || first.header.Get("x-idempotent-replay") != "" {
			t.Errorf("%s: first %q, again %q", product, first.header, repeated.header)
		}
		keyed("create "+product).post(secularPath+product, forms[product].with("metadata", `{"n":1}`).json()).wantConflict()
		if rows := f.session().get(secularPath + product + "?env=prod").rows(); rows != 1 {
			t.Errorf("%d %s", rows, product)
		}
	}
	otherContract, contract := f.createSecular("partnerships"), f.createSecular("partnerships")
	path := contract.path
	steps := []struct{ action, body string }{
		{"submit", ""}, {"review", `{"approved_by":"board"}`}, {"fund", ""}, {"activate", ""},
		{"profit", `{"gross_profit":"7","period_end_date":"2026-09-07"}`}, {"loss", `{"amount":"5"}`}, {"dissolve", `{"reason":"over"}`},
	}
	var responses []*response
	for _, step := range steps {
		responses = append(responses, keyed(step.action).post(path+"/"+step.action, step.body).want(200, ""))
		f.advanceDays(1)
	}
	final := contract.read()
	f.wantNothingStored(t, func() {
		for i, step := range steps {
			repeated := keyed(step.action).post(path+"/"+step.action, step.body).want(200, responses[i].body)
			if repeated.header.Get("x-idempotent-replay") != "true" {
				t.Errorf("%s is not marked as a replay", step.action)
			}
			keyed(step.action).post(path+"/"+step.action, `{"other":1}`).wantConflict()
			keyed(step.action).post(otherContract.path+"/"+step.action, step.body).wantConflict()
		}
		contract.get(path).want(200, final.body)
	})
}

// A repeated action gets its first response again, even if the action has booked many entries.
func TestReplayOfAnActionWithSeveralEntriesIsEqual(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("certificate-issues", "total_value", `"14000"`, "underlying_asset_value", `"14000"`).mustActAll(`offering subscription_start "2026-09-01" subscription_end "2026-09-30"`)
	for i := range 140 {
		investorID := fmt.Sprintf("%s%03d", customerID[:33], i)
		contract.mustActAll(`subscribe investor_id "` + investorID + `" certificates 1`)
	}
	c := f.session().with("idempotency-key", "activate")
	first := c.post(contract.path+"/activate", "").want(200, "")
	if n := len(contract.entries()); n != 142 {
		t.Errorf("%d entries, want 140 subscriptions and 2 of the activation", n)
	}
	contract.mustActAll(`profit total_profit "1400"`)
	c.post(contract.path+"/activate", "").want(200, first.body)
}

// A refused request does not use its key: the corrected request may have the same one.
func TestRefusedContractWriteLeavesItsKeyFree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.session().with("idempotency-key", "k")
	c.post(secularPath+"leases", "{}").want(422, "")
	c.post(secularPath+"leases", forms["leases"].with("region", `"XX"`).json()).wantFaults("region")
	created := c.post(secularPath+"leases", forms["leases"].json()).want(201, "")
	contract := &contractFixture{f.session().with("idempotency-key", "a"), secularPath + "leases/" + created.at("data.id")}
	contract.act("payment", "amount", `"1"`).wantConflict()
	contract.act("acquire").wantFaults("ownership_documents")
	contract.mustAct("acquire", "ownership_documents", `["deed"]`)
	contract.act("acquire", "ownership_documents", `["other"]`).wantConflict()
	f.session().post(contract.path+"/acquire", `{"ownership_documents":["deed"]}`).wantConflict() // without the key this is a new request, and the contract's new state refuses it
	for _, key := range []string{strings.Repeat("k", 256), "a\tb"} {
		f.session().with("idempotency-key", key).post(secularPath+"leases", forms["leases"].json()).wantFaults("Idempotency-Key")
	}
}

// Keys belong to the organization's staff: the same request by a colleague is a repetition. A
// partner's or the administration's key with the same text is a different key.
func TestContractKeysBelongToTheOrganizationsStaff(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	body := forms["leases"].json()
	first := f.callerOf(asAdmin).with("idempotency-key", "k").post(secularPath+"leases", body).want(201, "")
	f.callerOf(asClient).with("idempotency-key", "k").post(secularPath+"leases", body).want(201, first.body)
	other := f.callerOf(asForeignClient).with("idempotency-key", "k").post(secularPath+"leases", body).want(201, "")
	if other.at("data.id") == first.at("data.id") {
		t.Error("another organization was given the first one's contract")
	}
	f.partner().with("idempotency-key", "k").post(transactions, paymentBody(`"amount":"1"`)).want(201, "")
	f.callerOf(byAdmin).with("idempotency-key", "k").post("/api/v1/limits", `{"partner_id":1,"kind":"velocity","max_count":9,"window":"minute","env":"test"}`).want(201, "")
}

package contract

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// fundPartnership makes a funded partnership with a rent of 1, and returns the request to activate it. The activation
// reserves room for 120 rents, because the partnership names no term.
func (f *fixture) fundPartnership(org ledger.ID, currency string, env money.Env) ActionRequest {
	f.t.Helper()
	created, err := f.service.Create(Create{Author: ledger.ByAdminToken.Author(), Org: org, Product: contract.Partnership, Reading: contract.Secular, Env: env, Input: parseInput(f.t,
		`{"customer_id":"7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01","region":"AE","currency":"`+currency+`","partnership_type":"permanent",`+
			`"total_value":"2","bank_contribution":"1","customer_contribution":"1","profit_sharing_ratio":{"bank":50,"customer":50},"rental_amount":"1"}`)})
	if err != nil {
		f.t.Fatal(err)
	}
	a := ActionRequest{Author: ledger.ByAdminToken.Author(), Org: org, ID: created.Record.ID, Product: contract.Partnership, Reading: contract.Secular, Action: contract.Fund}
	if _, err := f.service.Act(a); err != nil {
		f.t.Fatal(err)
	}
	a.Action = contract.Activate
	return a
}

// A booking on a due date is never refused, so it must not bring a total out of range (invariant 7 in doc.go). A command
// that sets due dates is refused if there is no room for the amounts that may be booked on them.
func TestActionIsRefusedWithoutRoomForItsDueDates(t *testing.T) {
	f := openFixture(t)
	firstRequest := f.fundPartnership(f.org, "AED", money.Prod)
	view := f.Journal.View()
	funded, found, err := Load(view, f.org, firstRequest.ID)
	view.Close()
	if err != nil || !found {
		t.Fatal(found, err)
	}
	d, err := funded.Record.Act(contract.Activate, schema.Input{}, ledger.MicrosOf(f.Clock.Now()))
	if err != nil {
		t.Fatal(err)
	}
	if d.Reserve, err = maxReserved.Sub(money.FromUint64(120)); err != nil { // as if other contracts had reserved all room but 120
		t.Fatal(err)
	}
	f.MustSubmit(changeOf(f.org, &d, funded.Header.Version, ledger.BySystem.Author()))
	if _, err := f.service.Act(f.fundPartnership(f.org, "AED", money.Prod)); err != nil {
		t.Errorf("there is room for one: %v", err)
	}
	var faults *schema.Faults
	refusedRequest := f.fundPartnership(f.org, "AED", money.Prod)
	if _, err := f.service.Act(refusedRequest); !errors.As(err, &faults) || faults.List[0].Field != "amount" {
		t.Errorf("there is no room, and it is activated: %v", err)
	}
	if r, err := f.service.Read(f.org, contract.Partnership, contract.Secular, refusedRequest.ID); err != nil || r.Record.Status != contract.Funded {
		t.Errorf("the refusal has left %v, %v", r.Record, err)
	}
	// Each asset, environment and organization has its own room.
	for _, a := range []ActionRequest{f.fundPartnership(f.org, "USD", money.Prod), f.fundPartnership(f.org, "AED", money.Test), f.fundPartnership(uuid.New(), "AED", money.Prod)} {
		if _, err := f.service.Act(a); err != nil {
			t.Errorf("another asset, environment or organization has no room: %v", err)
		}
	}
}

package clients

import (
	"fmt"
	"net/http"

	"github.com/google/uuid"
)

// contractLifecycle describes how a contract is created, and which actions follow.
type contractLifecycle struct {
	path, body string // URL path and body of the request that creates the contract; in body, %s stands for a customer's id
	steps      []contractStep
}

type contractStep struct{ action, body string }

var contractLifecycles = []contractLifecycle{
	{"/api/v1/pfp/safekeeping-deposits", `{"customer_id":"%s","region":"OM","currency":"OMR","custody_type":"guaranteed","initial_amount":"100000"}`, []contractStep{
		{"activate", "{}"}, {"deposit", `{"amount":"5000"}`}, {"grant_hibah", `{"amount":"10","granted_by":"board"}`}, {"withdraw", `{"amount":"2500"}`},
		{"deposit", `{"amount":"1"}`}, {"close", `{"closed_by":"teller"}`},
	}},
	{"/api/v1/pfp/leases", `{"customer_id":"%s","region":"QA","lease_type":"operating","asset_description":"a delivery van","asset_cost":"1000000",` +
		`"lease_term_months":12,"monthly_rental":"90000"}`, []contractStep{
		{"acquire", `{"ownership_documents":["deed"]}`}, {"activate", "{}"}, {"payment", `{"amount":"90000"}`}, {"arrears", `{"amount":"100"}`},
		{"arrears", `{"amount":"0"}`}, {"expense", `{"amount":"250","description":"tyres"}`}, {"return", "{}"},
	}},
	{"/api/v1/pfp/instalment-sales", `{"customer_id":"%s","region":"KW","currency":"KWD","asset_description":"a delivery van","asset_cost":"1000000",` +
		`"markup_rate":10,"instalments":12}`, []contractStep{
		{"order_asset", "{}"}, {"purchase_asset", `{"ownership_documents":["deed"]}`}, {"deliver_asset", "{}"}, {"activate", "{}"},
		{"record_payment", `{"amount":"91666"}`}, {"record_payment", `{"amount":"91666"}`}, {"settle_early", `{"rebate":"1000"}`},
	}},
}

// customers is a UUID namespace. The id of a contract's customer is computed from the number of the contract in this
// namespace.
var customers = uuid.MustParse("6f1c7b8e-4d60-4c43-9d5a-0f9d3e1a7c55")

// contractRequest returns the sequence's next request: the contract's creation, then its actions, then reads. The
// creation and the actions have idempotency keys, so that a repetition after a fault has no second effect.
func (s *requestSequence) contractRequest() request {
	key := fmt.Sprintf("contract-%d-%d", s.number, s.step)
	switch lifecycle := s.contract; {
	case s.id == "":
		body := fmt.Appendf(nil, lifecycle.body, uuid.NewSHA1(customers, fmt.Append(nil, s.number)))
		return request{kind: "contract", method: http.MethodPost, path: lifecycle.path, key: key, body: body, recordedBody: body, byUser: true}
	case s.step <= len(lifecycle.steps):
		step := lifecycle.steps[s.step-1]
		return request{kind: "action", method: http.MethodPost, path: lifecycle.path + "/" + s.id + "/" + step.action, key: key, body: []byte(step.body), recordedBody: []byte(step.body), byUser: true}
	default:
		return request{kind: "read contract", method: http.MethodGet, path: lifecycle.path + "/" + s.id, byUser: true}
	}
}

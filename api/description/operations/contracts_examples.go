package operations

import (
	"strings"

	"mizan/api/description/spec"
	"mizan/ledger/contract"
)

// contractRun is a sequence of requests about one contract: create is the body of the request that creates the contract, and
// each step is an action and its body. If the body is empty, the request has no body. In a body, $today stands for the current
// day of the clock. The step "+27" is not an action: it advances the sandbox's clock by 27 times 100,000 seconds.
type contractRun struct {
	create string
	steps  [][2]string
}

const (
	customer = `"customer_id":"7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01","region":"AE",`
	halves   = `"profit_sharing_ratio":{"bank":50,"customer":50},`
	test     = `"env":"test"}`
	approval = `{"approved_by":"Dr. Amin","document_ref":"minutes 12"}`
	fatwa    = `{"approved_by":"Dr. Amin","fatwa_reference":"F-7/2026"}`
	refusal  = `{"reason":"the asset is not described well enough"}`
)

// contractRuns are the sequences of requests from which the examples are made. The example of an action comes from the first
// run that contains the action.
var contractRuns = map[*contract.Product][]contractRun{
	contract.Certificate: {
		{certificates, [][2]string{{"submit", ""}, {"review", approval},
			{"offering", `{"subscription_start":"$today","subscription_end":"$today+30"}`},
			{"subscribe", `{"investor_id":"5d0a4c1e-8f53-4f0e-8a51-6a1f0c2b7d11","certificates":1000}`},
			{"close_subscription", ""}, {"activate", ""}, {"profit", `{"total_profit":"40000","period_end_date":"$today"}`},
			{"redeem_early", `{"redemption_date":"$today"}`}}},
		{certificates, [][2]string{{"submit", ""}, {"reject", refusal}}},
		{certificates, [][2]string{{"submit", ""}, {"review", approval},
			{"offering", `{"subscription_start":"$today","subscription_end":"$today+30"}`},
			{"subscribe", `{"investor_id":"5d0a4c1e-8f53-4f0e-8a51-6a1f0c2b7d11","certificates":1000}`},
			{"activate", ""}, {"default", `{"reason":"the lessee is insolvent"}`}}},
		{certificates, [][2]string{{"submit", ""}, {"review", approval},
			{"offering", `{"subscription_start":"$today","subscription_end":"$today+30"}`},
			{"subscribe", `{"investor_id":"5d0a4c1e-8f53-4f0e-8a51-6a1f0c2b7d11","certificates":1000}`},
			{"activate", ""}, {"+27", ""}, {"mature", ""}, {"redeem", `{"redemption_date":"$today"}`}}},
	},
	contract.Managed: {
		{managed, [][2]string{{"submit", ""}, {"review", approval}, {"fund", ""}, {"activate", ""},
			{"profit", `{"gross_profit":"20000","period_end_date":"$today"}`}, {"loss", `{"amount":"5000","period_end_date":"$today"}`},
			{"complete", `{"final_value":"505000"}`}}},
		{managed, [][2]string{{"submit", ""}, {"reject", refusal}}},
	},
	contract.Lease: {
		{lease("operating", ""), [][2]string{{"submit", ""}, {"review", approval},
			{"acquire", `{"ownership_documents":["deed 7"],"asset_serial_number":"L-12-0042"}`}, {"activate", `{"delivery_date":"$today"}`},
			{"payment", `{"amount":"600000"}`},
			{"arrears", `{"amount":"50000"}`}, {"expense", `{"amount":"12000","description":"new tyres","type":"maintenance"}`}, {"return", ""}}},
		{lease("operating", ""), [][2]string{{"submit", ""}, {"reject", refusal}}},
		{lease("operating", ""), [][2]string{{"submit", ""}, {"review", approval}, {"acquire", `{"ownership_documents":["deed 8"]}`},
			{"activate", ""}, {"terminate", `{"reason":"the lorry was lost"}`}}},
		{lease("finance", `"purchase_option_price":"100000",`),
			[][2]string{{"submit", ""}, {"review", approval}, {"acquire", `{"ownership_documents":["deed 9"]}`}, {"activate", ""},
				{"payment", `{"amount":"14400000"}`}, {"transfer_pending", ""}, {"transfer", ""}}},
	},
	contract.Partnership: {
		{partnership, [][2]string{{"submit", ""}, {"review", approval}, {"fund", ""}, {"activate", ""},
			{"profit", `{"gross_profit":"20000","period_end_date":"$today"}`}, {"loss", `{"amount":"10000"}`}, {"buyout", `{"units":1}`},
			{"dissolve", `{"reason":"both parties agree"}`}}},
		{partnership, [][2]string{{"submit", ""}, {"reject", refusal}}},
	},
	contract.Deposit: {
		{deposit, [][2]string{{"activate", ""}, {"profit", `{"gross_profit":"1000","period_end_date":"$today"}`}, {"loss", `{"amount":"200"}`},
			{"withdraw", `{"closed_by":"branch 3"}`}, {"close", `{"closed_by":"branch 3"}`}}},
		{deposit, [][2]string{{"activate", ""}, {"+27", ""}, {"mature", ""}, {"renew", `{"term_months":2}`}}},
	},
	contract.InstalmentSale: {
		{sale, [][2]string{{"submit", ""}, {"review", approval}, {"order_asset", `{"supplier_deposit":"100000"}`},
			{"purchase_asset", `{"ownership_documents":["bill of sale 7"]}`}, {"deliver_asset", `{"delivery_date":"$today"}`},
			{"activate", `{"start_date":"$today"}`},
			{"record_payment", `{"amount":"275000"}`}, {"record_delinquency", `{"amount":"1000"}`}, {"settle_early", `{"rebate":"10000"}`}}},
		{sale, [][2]string{{"submit", ""}, {"reject", refusal}}},
		{sale, [][2]string{{"submit", ""}, {"review", approval}, {"cancel", ""}}},
	},
	contract.Safekeeping: {
		{safekeeping, [][2]string{{"activate", ""}, {"deposit", `{"amount":"500"}`}, {"withdraw", `{"amount":"300"}`},
			{"grant_hibah", `{"amount":"25","granted_by":"branch 3"}`}, {"close", `{"closed_by":"branch 3"}`}}},
	},
}

const (
	certificates = `{"name":"Ten lorries","region":"AE","backing_type":"lease","underlying_asset":"Ten lorries of 12 t","underlying_asset_value":"1000000","total_value":"1000000","certificate_value":"1000","expected_yield":7,"maturity_months":1,` +
		`"early_redemption_allowed":true,"early_redemption_penalty":"500",` + test
	managed     = `{` + customer + `"currency":"AED","capital_amount":"500000","business_type":"import of tea",` + halves + `"term_months":12,` + test
	partnership = `{` + customer + `"partnership_type":"diminishing","total_value":"1000000","bank_contribution":"600000","customer_contribution":"400000",` + halves + `"term_months":12,` + test
	deposit     = `{` + customer + `"currency":"AED","initial_amount":"100000","term_months":1,` + halves + `"early_withdrawal_allowed":true,"early_withdrawal_penalty_percent":10,` + test
	sale        = `{` + customer + `"currency":"AED","asset_description":"A milling machine","asset_cost":"1000000","markup_rate":10,"instalments":4,"supplier":{"name":"Tools and Sons"},` + test
	safekeeping = `{` + customer + `"custody_type":"guaranteed","initial_amount":"1000",` + test
)

func lease(kind, option string) string {
	return `{` + customer + `"lease_type":"` + kind + `","asset_description":"A lorry of 12 t","asset_cost":"12000000","lease_term_months":24,` + option + `"monthly_rental":"600000",` + test
}

// createExamples returns the example for the operation that creates a contract.
func (k contractKind) createExamples() []spec.Example {
	return []spec.Example{{As: "session", Body: k.createExample(contractRuns[k.product][0].create), Keep: map[string]string{k.schemaName(): "data.id"}}}
}

// availabilityExample returns the example for the operation that lists a contract's actions. Only the product with the shortest
// list has an example.
func (k contractKind) availabilityExample() []spec.Example {
	if k.product != contract.Safekeeping {
		return nil
	}
	return []spec.Example{{As: "session", Path: map[string]string{"id": "$" + k.schemaName()}}}
}

// createExample returns the body of a request that creates a contract. It adds the member that only the religious reading of
// some products requires.
func (k contractKind) createExample(body string) string {
	if len(k.product.Variants[k.reading].CreationActions) > 0 {
		return strings.TrimSuffix(body, "}") + `,"compliance_review":` + fatwa + `}`
	}
	return body
}

// actionExamples returns the example for an action, which comes from the first run that contains the action.
func (k contractKind) actionExamples(action contract.Action) []spec.Example {
	for _, run := range contractRuns[k.product] {
		kept := "of " + k.schemaName()
		before := []spec.Request{{As: "session", Method: "POST", Path: k.path(), Body: k.createExample(run.create), Keep: map[string]string{kept: "data.id"}}}
		for _, step := range run.steps {
			name, body := contract.Action(step[0]), step[1]
			if time, isMove := strings.CutPrefix(step[0], "+"); isMove {
				before = append(before, spec.Request{As: "admin", Method: "PUT", Path: v1 + "/sandbox/clock", Body: `{"advance_seconds":` + time + `00000}`})
				continue
			}
			if !k.isSecular() && name == contract.Approve {
				body = fatwa
			}
			if name == action {
				return []spec.Example{{As: "session", Path: map[string]string{"id": "$" + kept}, Body: body, Setup: before}}
			}
			if k.needsRequest(name) {
				before = append(before, spec.Request{As: "session", Method: "POST",
					Path: k.path() + "/$" + kept + "/" + k.product.ActionName(k.reading, name), Body: body})
			}
		}
	}
	return nil
}

// needsRequest tells whether a run sends a request for the action. No request is sent if the reading does not have the action,
// or performs it when the contract is created.
func (k contractKind) needsRequest(action contract.Action) bool {
	for _, a := range k.actions() {
		if a.handler.Name == action {
			return true
		}
	}
	return false
}

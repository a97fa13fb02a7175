package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// "Bodies are flat JSON objects": any other body is refused, and nothing is stored.
func TestBodiesOfContractsAreStrictObjects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("leases")
	deepBody := strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33)
	type refusedBody struct {
		body   string
		status int
	}
	f.wantNothingStored(t, func() {
		for _, path := range []string{secularPath + "leases", contract.path + "/acquire"} {
			for name, c := range map[string]refusedBody{
				"no JSON":      {`{`, 400},
				"blank":        {` `, 400},
				"two values":   {`{} {}`, 400},
				"a key twice":  {`{"region":"AE","region":"SA"}`, 400},
				"nested twice": {`{"metadata":{"a":1,"a":2}}`, 400},
				"no UTF-8":     {"{\"region\":\"\xff\"}", 400},
				"too deep":     {deepBody, 400},
				"a list":       {`[]`, 422},
				"a text":       {`"x"`, 422},
				"a number":     {`1`, 422},
				"null":         {`null`, 422},
			} {
				r := f.session().post(path, c.body)
				if r.status != c.status || c.status == 400 && r.at("error") != "bad_request" {
					t.Errorf("%s to %s: %d %s", name, path, r.status, r.body)
				}
				if c.status == 422 {
					r.wantFaults("body")
				}
			}
			for _, contentType := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "application/jsonp", ""} {
				// With the empty type the request has no Content-Type header.
				f.session().with("content-type", contentType).post(path, "{}").want(415, "")
			}
			f.session().with("content-type", "application/json; charset=utf-8").post(path, "{}").want(422, "")
			f.session().post(path, `{"metadata":"`+strings.Repeat("a", 1<<20)+`"}`).want(413, "")
		}
	})
}

// An action without parameters needs no body, and ignores any body that is sent.
func TestActionWithoutParametersNeedsNoBody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	bodies := []string{"", "{}", `{"anything":"else","approved_by":1}`}
	for _, body := range bodies {
		for product, actions := range map[string]string{
			"managed-investments": "submit", "leases": "submit", "partnerships": "submit", "certificate-issues": "submit", "instalment-sales": "submit order_asset",
		} {
			contract := f.createSecular(product)
			for _, action := range strings.Fields(actions) {
				if action == "order_asset" {
					contract = f.createSecular(product)
				}
				contract.post(contract.path+"/"+action, body).want(200, "")
			}
		}
		contract := f.createSecular("partnerships")
		for _, action := range []string{"fund", "activate"} {
			contract.post(contract.path+"/"+action, body).want(200, "")
		}
	}
	// If all members of a body are optional, a missing body counts as an empty object.
	contract := f.createSecular("leases").mustActAll(`acquire ownership_documents ["deed"]`)
	contract.mustAct("activate").wantData("start_date", "2026-09-03")
	partnership := f.createSecular("partnerships", "partnership_type", `"diminishing"`, "term_months", `12`).mustActAll("fund", "activate")
	partnership.mustAct("buyout").wantData("units_bought", "1")
}

// Refusals are checked in this order: unknown contract, unknown action, wrong state, bad
// input, failed condition.
func TestActionChecksRunInTheSpecifiedOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("leases")
	f.wantNothingStored(t, func() {
		unknownPath := secularPath + "leases/" + uuid.NewString()
		for _, action := range []string{"activate", "fly", "payment", "rent_due"} {
			if r := f.session().post(unknownPath+"/"+action, `{"amount":1}`); r.status != 404 || r.at("error") != "not_found" {
				t.Errorf("%s of nothing: %d %s", action, r.status, r.body)
			}
		}
		f.session().post(contract.path+"/payment", `{"amount":1}`).wantConflict()
		f.session().post(contract.path+"/payment", `{"amount":"1"}`).wantConflict()
		f.session().post(contract.path+"/transfer", ``).wantConflict()
		f.session().post(contract.path+"/acquire", `{}`).wantFaults("ownership_documents")
	})
	contract.mustActAll(`acquire ownership_documents ["deed"]`, "activate")
	f.wantNothingStored(t, func() {
		f.session().post(contract.path+"/payment", `{"amount":1}`).wantFaults("amount")
		f.session().post(contract.path+"/payment", `{"amount":"1201"}`).wantFaults("amount")
		f.session().post(contract.path+"/transfer", ``).wantFaults("lease_type")
		f.session().post(contract.path+"/terminate", `{"reason":" "}`).wantFaults("reason")
	})
}

// "422: Unknown action, message `Unsupported action: {name}`".
func TestUnknownActionIsNamedInTheError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	table := map[string][]string{
		"certificate-issues":   {"fund", "cancel", "continue"},
		"managed-investments":  {"liquidate", "liquidation", "dissolve"},
		"leases":               {"rent_due", "record_rental", "ACTIVATE", "create"},
		"partnerships":         {"rent", "complete_buyout", "buyout_unit", "complete"},
		"investment-deposits":  {"submit", "review", "reject"},
		"instalment-sales":     {"pay_off", "payment"},
		"safekeeping-deposits": {"submit", "review", "hibah"},
	}
	wantEveryProduct(t, table)
	for product, unknown := range table {
		contract := f.createSecular(product)
		for _, action := range append(unknown, "fly", "x%2Fy") {
			name := strings.ReplaceAll(action, "%2F", "/")
			contract.post(contract.path+"/"+action, "{}").want(422, `{"error":"unprocessable_entity","message":"Unsupported action: `+name+`","details":{"action":["Unsupported action: `+name+`"]}}`)
		}
	}
}

// The refusal of an unknown action repeats the action's name as text, truncated if it is long.
func TestUnknownActionNameIsEscapedAndTruncated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("leases")
	for escaped, want := range map[string]string{
		"%22%7D": `"}`, "%0A": "\n", "%FF": "\ufffd", "%00": "\x00", "%F0%9F%92%A5": "\U0001f4a5",
		strings.Repeat("a", 500): strings.Repeat("a", 64), "%25s": "%s", ".": ".", "activate%20": "activate ",
	} {
		r := contract.post(contract.path+"/"+escaped, "").wantFaults("action")
		if got := r.at("message"); !strings.HasPrefix(got, "Unsupported action: "+want) || len(got) > 100 {
			t.Errorf("%s: %q", escaped, got)
		}
	}
}

// "metadata object returned untouched": the response has the bytes that were sent.
func TestContractMetadataIsReturnedUnchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const oddMetadata = `{ "b" : 1.0,  "a":[ 1e2 ,-0, 12345678901234567890.10],"ü":"\u00e9\/\n", "status":"x", "losses":{"n":null} }`
	for _, product := range products {
		body := forms[product].with("metadata", oddMetadata).json()
		r := f.session().post(secularPath+product, body).want(201, "")
		for _, shown := range []string{r.body, f.session().get(secularPath + product + "/" + r.at("data.id")).body} {
			if !strings.Contains(shown, `"metadata":`+oddMetadata+`,`) {
				t.Errorf("%s shows %s", product, shown)
			}
		}
		for sent, want := range map[string]string{"": "null", "null": "null", "{}": "{}"} {
			created := f.session().post(secularPath+product, forms[product].with("metadata", sent).json()).want(201, "")
			if got := created.at("data.metadata"); got != want {
				t.Errorf("%s with metadata %q shows %s", product, sent, got)
			}
		}
	}
}

// The service adds metadata keys of its own, which the specification names. The client's keys stay
// beside them, but a key of the service replaces a client's key of the same name.
func TestServiceMetadataKeysAreAddedToTheClients(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const clientMetadata = `{"mine":{ "a" : [1.0] },"rejection_reason":"mine too","\u0061b":"x"}`
	contract := f.createSecular("partnerships", "metadata", clientMetadata).mustActAll("submit", `reject reason "no"`)
	if r := contract.read(); !strings.Contains(r.body, `"metadata":{"mine":{ "a" : [1.0] },"ab":"x","rejection_reason":"no"}`) {
		t.Errorf("%s", r.body)
	}
	withLoss := f.createSecular("partnerships", "metadata", `{"mine":1}`).mustActAll("fund", "activate", `loss amount "10"`)
	withLoss.read().wantData("metadata", `{"last_loss":{"amount":"10","bank_share":"6","customer_share":"4","date":"2026-09-03"},"mine":1}`)
}

// Every text, date and amount in an action's body has bounds: a value outside them is refused with the
// field's name, and nothing is stored.
func TestActionFieldsOutsideTheirBoundsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	badReason := append([]string{`""`, "", "null"}, badNote...)
	badCount, badRequiredAmount := invalidIntegers(`0`), append([]string{"", "null"}, badAmount...)
	offer := `offering subscription_start "2026-09-01" subscription_end "2026-09-30"`
	subscribe := `subscribe investor_id "` + customerID + `" certificates 2`
	acquire := `acquire ownership_documents ["deed"]`
	deliverAndActivate := []string{"order_asset", `purchase_asset ownership_documents ["deed"]`, "deliver_asset", "activate"}
	badDocuments := []string{`"deed"`, `[]`, `{}`, `[""]`, `[null]`, `[{}]`, "", "null"}
	for _, c := range []struct {
		product         string
		contractMembers []string // name, value pairs of the contract's members that differ from the product's form
		earlierActions  []string
		action          string
		validMembers    []string            // name, value pairs of the action's body
		refusedValues   map[string][]string // the refused values of each member, by the member's name
	}{
		{"certificate-issues", nil, nil, "offering", []string{"subscription_start", `"2026-09-01"`, "subscription_end", `"2026-09-30"`},
			map[string][]string{"subscription_start": append([]string{"", "null"}, badDate...), "subscription_end": append([]string{"", "null"}, badDate...)}},
		{"certificate-issues", nil, []string{offer}, "subscribe", []string{"investor_id", `"` + customerID + `"`, "certificates", `1`},
			map[string][]string{"investor_id": append([]string{"", "null"}, badUUID...), "certificates": append([]string{"", "null", `11`}, badCount...)}},
		{"certificate-issues", nil, []string{offer, subscribe}, "activate", nil, map[string][]string{"issue_date": badDate}},
		{"certificate-issues", nil, []string{offer, subscribe, "activate"}, "profit", []string{"total_profit", `"5"`}, map[string][]string{"total_profit": badRequiredAmount, "period_end_date": badDate}},
		{"certificate-issues", []string{"early_redemption_allowed", "true"}, []string{offer, subscribe, "activate"}, "redeem_early", []string{"redemption_date", `"2026-09-03"`}, map[string][]string{"redemption_date": append([]string{"", "null"}, badDate...)}},
		{"certificate-issues", nil, []string{offer, subscribe, "activate"}, "default", []string{"reason", `"gone"`}, map[string][]string{"reason": badReason}},
		{"managed-investments", nil, []string{"submit"}, "review", []string{"approved_by", `"board"`}, map[string][]string{"approved_by": append([]string{`""`, "", "null"}, badText...), "signed_at": badNote, "note": badNote, "document_ref": badNote}},
		{"managed-investments", nil, []string{"submit"}, "reject", []string{"reason", `"no"`}, map[string][]string{"reason": badReason}},
		{"managed-investments", nil, []string{"fund", "activate"}, "profit", []string{"gross_profit", `"0"`, "period_end_date", `"2026-09-03"`},
			map[string][]string{"gross_profit": append([]string{"", "null"}, badSum...), "period_end_date": append([]string{"", "null"}, badDate...)}},
		{"managed-investments", nil, []string{"fund", "activate"}, "loss", []string{"amount", `"1"`, "period_end_date", `"2026-09-03"`}, map[string][]string{"amount": badRequiredAmount, "period_end_date": badDate}},
		{"managed-investments", nil, []string{"fund"}, "complete", []string{"final_value", `"0"`}, map[string][]string{"final_value": append([]string{"", "null"}, badSum...)}},
		{"leases", nil, nil, "acquire", []string{"ownership_documents", `[{"ref":1}]`},
			map[string][]string{"ownership_documents": badDocuments, "asset_serial_number": badText, "asset_registration": badText, "insurance_policy": badText, "insurance_expires": badDate}},
		{"leases", nil, []string{acquire}, "activate", nil, map[string][]string{"delivery_date": badDate}},
		{"leases", nil, []string{acquire, "activate"}, "payment", []string{"amount", `"1"`}, map[string][]string{"amount": badRequiredAmount}},
		{"leases", nil, []string{acquire, "activate"}, "arrears", []string{"amount", `"0"`}, map[string][]string{"amount": append([]string{"", "null"}, badSum...)}},
		{"leases", nil, []string{acquire, "activate"}, "expense", []string{"amount", `"1"`, "description", `"tyres"`}, map[string][]string{"amount": badRequiredAmount, "description": badReason, "type": badText}},
		{"leases", nil, []string{acquire, "activate"}, "terminate", []string{"reason", `"gone"`}, map[string][]string{"reason": badReason}},
		{"partnerships", nil, []string{"submit"}, "review", []string{"approved_by", `"board"`}, map[string][]string{"approved_by": append([]string{`""`, "", "null"}, badText...)}},
		{"partnerships", nil, []string{"fund", "activate"}, "profit", []string{"gross_profit", `"0"`, "period_end_date", `"2026-09-03"`},
			map[string][]string{"gross_profit": append([]string{"", "null"}, badSum...), "period_end_date": append([]string{"", "null"}, badDate...)}},
		{"partnerships", nil, []string{"fund", "activate"}, "loss", []string{"amount", `"1"`}, map[string][]string{"amount": badRequiredAmount}},
		{"partnerships", []string{"partnership_type", `"diminishing"`, "term_months", `12`}, []string{"fund", "activate"}, "buyout", []string{"units", `12`}, map[string][]string{"units": append([]string{`13`}, badCount...)}},
		{"partnerships", nil, []string{"fund", "activate"}, "dissolve", []string{"reason", `"gone"`}, map[string][]string{"reason": badReason}},
		{"investment-deposits", nil, nil, "activate", nil, map[string][]string{"compliance_review": {`1`, `"x"`, `[]`, `{}`, `{"approved_by":""}`, `{"approved_by":" "}`, `{"approved_by":1}`, `{"approved_by":null}`, `{"Approved_By":"x"}`}}},
		{"investment-deposits", nil, []string{"activate"}, "profit", []string{"gross_profit", `"0"`}, map[string][]string{"gross_profit": append([]string{"", "null"}, badSum...), "period_end_date": badDate}},
		{"investment-deposits", nil, []string{"activate"}, "loss", []string{"amount", `"1"`}, map[string][]string{"amount": badRequiredAmount, "period_end_date": badDate}},
		{"investment-deposits", []string{"early_withdrawal_allowed", "true"}, []string{"activate"}, "withdraw", []string{"closed_by", `"teller"`}, map[string][]string{"closed_by": append([]string{`""`, "", "null"}, badText...)}},
		{"instalment-sales", nil, nil, "order_asset", nil, map[string][]string{"supplier_deposit": badSum}},
		{"instalment-sales", nil, []string{"order_asset"}, "purchase_asset", []string{"ownership_documents", `["deed"]`}, map[string][]string{"ownership_documents": badDocuments, "actual_cost": badAmount}},
		{"instalment-sales", nil, deliverAndActivate, "record_payment", []string{"amount", `"1100"`}, map[string][]string{"amount": append([]string{`"1101"`}, badRequiredAmount...)}},
		{"instalment-sales", nil, deliverAndActivate, "settle_early", []string{"rebate", `"100"`}, map[string][]string{"rebate": append([]string{"", "null", `"101"`}, badSum...)}},
		{"safekeeping-deposits", nil, []string{"activate"}, "withdraw", []string{"amount", `"1000"`}, map[string][]string{"amount": append([]string{`"1001"`}, badRequiredAmount...)}},
		{"safekeeping-deposits", nil, []string{"activate"}, "grant_hibah", []string{"amount", `"1"`, "granted_by", `"board"`}, map[string][]string{"amount": badRequiredAmount, "granted_by": append([]string{`""`, "", "null"}, badText...), "note": badNote}},
	} {
		contract := f.createSecular(c.product, c.contractMembers...).mustActAll(c.earlierActions...)
		validBody := members{}.with(c.validMembers...)
		f.wantNothingStored(t, func() {
			for _, name := range slices.Sorted(maps.Keys(c.refusedValues)) {
				for _, value := range c.refusedValues[name] {
					r := contract.post(contract.path+"/"+c.action, validBody.with(name, value).json())
					if r.status != 422 || r.at("details."+name) == "(absent)" {
						t.Errorf("%s %s with %s %.60s: %d %.300s", c.product, c.action, name, value, r.status, r.body)
					}
				}
			}
		})
		if r := contract.post(contract.path+"/"+c.action, validBody.json()); r.status != 200 {
			t.Errorf("%s %s with %s: %s", c.product, c.action, validBody.json(), fmt.Sprint(r.status, " ", r.body))
		}
	}
}

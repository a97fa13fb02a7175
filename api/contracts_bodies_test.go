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
	deep := strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33)
	type bad struct {
		body   string
		status int
	}
	f.wantNothingStored(t, func() {
		for _, path := range []string{secularPath + "leases", contract.path + "/acquire"} {
			for name, c := range map[string]bad{
				"no JSON":        {`{`, 400},
				"nothing at all": {` `, 400},
				"two values":     {`{} {}`, 400},
				"a key twice":    {`{"region":"AE","region":"SA"}`, 400},
				"inside, twice":  {`{"metadata":{"a":1,"a":2}}`, 400},
				"no UTF-8":       {"{\"region\":\"\xff\"}", 400},
				"too deep":       {deep, 400},
				"a list":         {`[]`, 422},
				"a text":         {`"x"`, 422},
				"a number":       {`1`, 422},
				"null":           {`null`, 422},
			} {
				r := f.session().post(path, c.body)
				if r.status != c.status || c.status == 400 && r.at("error") != "bad_request" {
					t.Errorf("%s to %s: %d %s", name, path, r.status, r.body)
				}
				if c.status == 422 {
					r.wantFaults("body")
				}
			}
			for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "application/jsonp", ""} {
				// Go sends no content type if the header is empty.
				f.session().with("content-type", kind).post(path, "{}").want(415, "")
			}
			f.session().with("content-type", "application/json; charset=utf-8").post(path, "{}").want(422, "")
			f.session().post(path, `{"metadata":"`+strings.Repeat("a", 1<<20)+`"}`).want(413, "")
		}
	})
}

// An action without parameters needs no body, and ignores one.
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
	// If all members are optional, no body is treated as an empty one.
	contract := f.createSecular("leases").mustActAll(`acquire ownership_documents ["deed"]`)
	contract.mustAct("activate").wantData("start_date", "2026-09-03")
	b := f.createSecular("partnerships", "partnership_type", `"diminishing"`, "term_months", `12`).mustActAll("fund", "activate")
	b.mustAct("buyout").wantData("units_bought", "1")
}

// Refusals are checked in this order: unknown contract, unknown action, wrong state, bad
// input, failed condition.
func TestActionChecksRunInTheSpecifiedOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("leases")
	f.wantNothingStored(t, func() {
		nobody := secularPath + "leases/" + uuid.NewString()
		for _, action := range []string{"activate", "fly", "payment", "rent_due"} {
			if r := f.session().post(nobody+"/"+action, `{"amount":1}`); r.status != 404 || r.at("error") != "not_found" {
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

// The refusal of an unknown action repeats its name as text, and truncates a long one.
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

// "metadata object returned untouched": the bytes are the sent ones.
func TestContractMetadataIsReturnedUnchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const odd = `{ "b" : 1.0,  "a":[ 1e2 ,-0, 12345678901234567890.10],"ü":"\u00e9\/\n", "status":"x", "losses":{"n":null} }`
	for _, product := range products {
		body := forms[product].with("metadata", odd).json()
		r := f.session().post(secularPath+product, body).want(201, "")
		for _, shown := range []string{r.body, f.session().get(secularPath + product + "/" + r.at("data.id")).body} {
			if !strings.Contains(shown, `"metadata":`+odd+`,`) {
				t.Errorf("%s shows %s", product, shown)
			}
		}
		for sent, want := range map[string]string{"": "null", "null": "null", "{}": "{}"} {
			b := f.session().post(secularPath+product, forms[product].with("metadata", sent).json()).want(201, "")
			if got := b.at("data.metadata"); got != want {
				t.Errorf("%s with metadata %q shows %s", product, sent, got)
			}
		}
	}
}

// The service's own metadata keys are those in the specification. Sent keys are kept beside
// them; for equal names the service's key has precedence.
func TestServiceMetadataKeysAreAddedToTheClients(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const sent = `{"mine":{ "a" : [1.0] },"rejection_reason":"mine too","\u0061b":"x"}`
	contract := f.createSecular("partnerships", "metadata", sent).mustActAll("submit", `reject reason "no"`)
	if r := contract.read(); !strings.Contains(r.body, `"metadata":{"mine":{ "a" : [1.0] },"ab":"x","rejection_reason":"no"}`) {
		t.Errorf("%s", r.body)
	}
	loss := f.createSecular("partnerships", "metadata", `{"mine":1}`).mustActAll("fund", "activate", `loss amount "10"`)
	loss.read().wantData("metadata", `{"last_loss":{"amount":"10","bank_share":"6","customer_share":"4","date":"2026-09-03"},"mine":1}`)
}

// Every text, date and amount in an action's body has bounds too: a value outside is refused by
// the field's name, and nothing is stored.
func TestActionFieldsOutsideTheirBoundsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	amount, zero, date, text := noAmount, noSum, noDate, append([]string{`""`, "", "null"}, noNote...)
	integer, sums := invalidIntegers(`0`), append([]string{"", "null"}, amount...)
	issue := `offering subscription_start "2026-09-01" subscription_end "2026-09-30"`
	bought := `subscribe investor_id "` + customerID + `" certificates 2`
	owned := `acquire ownership_documents ["deed"]`
	bought2 := []string{"order_asset", `purchase_asset ownership_documents ["deed"]`, "deliver_asset", "activate"}
	list := []string{`"deed"`, `[]`, `{}`, `[""]`, `[null]`, `[{}]`, "", "null"}
	for _, c := range []struct {
		product string
		more    []string // members of the contract
		before  []string // actions
		action  string
		good    []string // members of the body
		bad     map[string][]string
	}{
		{"certificate-issues", nil, nil, "offering", []string{"subscription_start", `"2026-09-01"`, "subscription_end", `"2026-09-30"`},
			map[string][]string{"subscription_start": append([]string{"", "null"}, date...), "subscription_end": append([]string{"", "null"}, date...)}},
		{"certificate-issues", nil, []string{issue}, "subscribe", []string{"investor_id", `"` + customerID + `"`, "certificates", `1`},
			map[string][]string{"investor_id": append([]string{"", "null"}, noUUID...), "certificates": append([]string{"", "null", `11`}, integer...)}},
		{"certificate-issues", nil, []string{issue, bought}, "activate", nil, map[string][]string{"issue_date": date}},
		{"certificate-issues", nil, []string{issue, bought, "activate"}, "profit", []string{"total_profit", `"5"`}, map[string][]string{"total_profit": sums, "period_end_date": date}},
		{"certificate-issues", []string{"early_redemption_allowed", "true"}, []string{issue, bought, "activate"}, "redeem_early", []string{"redemption_date", `"2026-09-03"`}, map[string][]string{"redemption_date": append([]string{"", "null"}, date...)}},
		{"certificate-issues", nil, []string{issue, bought, "activate"}, "default", []string{"reason", `"gone"`}, map[string][]string{"reason": text}},
		{"managed-investments", nil, []string{"submit"}, "review", []string{"approved_by", `"board"`}, map[string][]string{"approved_by": append([]string{`""`, "", "null"}, noText...), "signed_at": noNote, "note": noNote, "document_ref": noNote}},
		{"managed-investments", nil, []string{"submit"}, "reject", []string{"reason", `"no"`}, map[string][]string{"reason": text}},
		{"managed-investments", nil, []string{"fund", "activate"}, "profit", []string{"gross_profit", `"0"`, "period_end_date", `"2026-09-03"`},
			map[string][]string{"gross_profit": append([]string{"", "null"}, zero...), "period_end_date": append([]string{"", "null"}, date...)}},
		{"managed-investments", nil, []string{"fund", "activate"}, "loss", []string{"amount", `"1"`, "period_end_date", `"2026-09-03"`}, map[string][]string{"amount": sums, "period_end_date": date}},
		{"managed-investments", nil, []string{"fund"}, "complete", []string{"final_value", `"0"`}, map[string][]string{"final_value": append([]string{"", "null"}, zero...)}},
		{"leases", nil, nil, "acquire", []string{"ownership_documents", `[{"ref":1}]`},
			map[string][]string{"ownership_documents": list, "asset_serial_number": noText, "asset_registration": noText, "insurance_policy": noText, "insurance_expires": date}},
		{"leases", nil, []string{owned}, "activate", nil, map[string][]string{"delivery_date": date}},
		{"leases", nil, []string{owned, "activate"}, "payment", []string{"amount", `"1"`}, map[string][]string{"amount": sums}},
		{"leases", nil, []string{owned, "activate"}, "arrears", []string{"amount", `"0"`}, map[string][]string{"amount": append([]string{"", "null"}, zero...)}},
		{"leases", nil, []string{owned, "activate"}, "expense", []string{"amount", `"1"`, "description", `"tyres"`}, map[string][]string{"amount": sums, "description": text, "type": noText}},
		{"leases", nil, []string{owned, "activate"}, "terminate", []string{"reason", `"gone"`}, map[string][]string{"reason": text}},
		{"partnerships", nil, []string{"submit"}, "review", []string{"approved_by", `"board"`}, map[string][]string{"approved_by": append([]string{`""`, "", "null"}, noText...)}},
		{"partnerships", nil, []string{"fund", "activate"}, "profit", []string{"gross_profit", `"0"`, "period_end_date", `"2026-09-03"`},
			map[string][]string{"gross_profit": append([]string{"", "null"}, zero...), "period_end_date": append([]string{"", "null"}, date...)}},
		{"partnerships", nil, []string{"fund", "activate"}, "loss", []string{"amount", `"1"`}, map[string][]string{"amount": sums}},
		{"partnerships", []string{"partnership_type", `"diminishing"`, "term_months", `12`}, []string{"fund", "activate"}, "buyout", []string{"units", `12`}, map[string][]string{"units": append([]string{`13`}, integer...)}},
		{"partnerships", nil, []string{"fund", "activate"}, "dissolve", []string{"reason", `"gone"`}, map[string][]string{"reason": text}},
		{"investment-deposits", nil, nil, "activate", nil, map[string][]string{"compliance_review": {`1`, `"x"`, `[]`, `{}`, `{"approved_by":""}`, `{"approved_by":" "}`, `{"approved_by":1}`, `{"approved_by":null}`, `{"Approved_By":"x"}`}}},
		{"investment-deposits", nil, []string{"activate"}, "profit", []string{"gross_profit", `"0"`}, map[string][]string{"gross_profit": append([]string{"", "null"}, zero...), "period_end_date": date}},
		{"investment-deposits", nil, []string{"activate"}, "loss", []string{"amount", `"1"`}, map[string][]string{"amount": sums, "period_end_date": date}},
		{"investment-deposits", []string{"early_withdrawal_allowed", "true"}, []string{"activate"}, "withdraw", []string{"closed_by", `"teller"`}, map[string][]string{"closed_by": append([]string{`""`, "", "null"}, noText...)}},
		{"instalment-sales", nil, nil, "order_asset", nil, map[string][]string{"supplier_deposit": zero}},
		{"instalment-sales", nil, []string{"order_asset"}, "purchase_asset", []string{"ownership_documents", `["deed"]`}, map[string][]string{"ownership_documents": list, "actual_cost": amount}},
		{"instalment-sales", nil, bought2, "record_payment", []string{"amount", `"1100"`}, map[string][]string{"amount": append([]string{`"1101"`}, sums...)}},
		{"instalment-sales", nil, bought2, "settle_early", []string{"rebate", `"100"`}, map[string][]string{"rebate": append([]string{"", "null", `"101"`}, zero...)}},
		{"safekeeping-deposits", nil, []string{"activate"}, "withdraw", []string{"amount", `"1000"`}, map[string][]string{"amount": append([]string{`"1001"`}, sums...)}},
		{"safekeeping-deposits", nil, []string{"activate"}, "grant_hibah", []string{"amount", `"1"`, "granted_by", `"board"`}, map[string][]string{"amount": sums, "granted_by": append([]string{`""`, "", "null"}, noText...), "note": noNote}},
	} {
		contract := f.createSecular(c.product, c.more...).mustActAll(c.before...)
		complete := members{}.with(c.good...)
		f.wantNothingStored(t, func() {
			for _, name := range slices.Sorted(maps.Keys(c.bad)) {
				for _, value := range c.bad[name] {
					r := contract.post(contract.path+"/"+c.action, complete.with(name, value).json())
					if r.status != 422 || r.at("details."+name) == "(absent)" {
						t.Errorf("%s %s with %s %.60s: %d %.300s", c.product, c.action, name, value, r.status, r.body)
					}
				}
			}
		})
		if r := contract.post(contract.path+"/"+c.action, complete.json()); r.status != 200 {
			t.Errorf("%s %s with %s: %s", c.product, c.action, complete.json(), fmt.Sprint(r.status, " ", r.body))
		}
	}
}

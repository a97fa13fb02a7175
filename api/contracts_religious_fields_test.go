package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// wantTexts checks that the response's body contains these texts, exactly as they are written.
func (r *response) wantTexts(texts ...string) *response {
	r.t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.body, text) {
			r.t.Errorf("%s is not in %s", text, r.body)
		}
	}
	return r
}

// Specification, "Response shape": amounts are JSON integers of minor units, to be read with
// arbitrary precision. 2^53 + 1 is the first integer that a float would change.
func TestReligiousAmountsAreExactIntegers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	largest := "1" + strings.Repeat("0", 71)
	for _, capital := range []string{"1", "9007199254740993", "18446744073709551617", largest} {
		for _, sent := range []string{capital, `"` + capital + `"`} {
			r := f.session().post(religiousPath+"mudaraba", religiousForm("mudaraba").with("capital_amount", sent).json()).want(201, "")
			r.wantTexts(`"capital_amount":`+capital+`,`, `"current_value":0,`)
			path := religiousPath + "mudaraba/" + r.at("data.id")
			f.session().get(path).want(200, r.body)
			f.session().get(religiousPath + "mudaraba?per_page=1").wantTexts(`"capital_amount":` + capital + `,`)
		}
	}
}

// Amounts are exact JSON integers also in responses to actions, in lists and in the service's
// metadata keys.
func TestAmountsInListsAndMetadataAreExactIntegers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("mudaraba", "capital_amount", "9007199254740993", "profit_sharing_ratio", `{"bank":0,"customer":100}`).approve().mustActAll("fund", "activate")
	const profit = "9007199254740995"
	for _, gross := range []string{profit, `"` + profit + `"`} {
		contract.mustAct("distribute_profit", "gross_profit", gross, "period_end_date", `"2026-09-03"`)
	}
	contract.mustAct("record_loss", "amount", "1")
	contract.mustAct("complete", "final_value", "9007199254740997")
	contract.read().wantTexts(
		`"profit_distributions":[{"date":"2026-09-03","gross_profit":9007199254740995,"bank_share":0,"customer_share":9007199254740995},`,
		`"customer_profit_share":18014398509481990,`, `"profit_sharing_ratio":{"bank":0,"customer":100}`,
		`"losses":[{"date":"2026-09-03","loss_amount":1,"new_value":9007199254740992}]`,
		`"final_settlement":{"returned_to_bank":9007199254740992,"total_profit":0,"total_loss":1,"variance":5}`,
	)
}

// Amounts may be JSON integers or decimal strings; anything else is 422.
func TestAmountsMustBeIntegersOrDecimalStrings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("mudaraba").approve().mustActAll("fund", "activate")
	badAmounts := []string{
		"1.0", "1e3", "-1", "-0", `"01"`, `"-1"`, `"1.0"`, `" 1"`, `""`, `"x"`, `"0x10"`, "true", "[]", "{}", `["1"]`,
		"1" + strings.Repeat("0", 72) + "1", "1" + strings.Repeat("0", 200), `"` + strings.Repeat("9", 79) + `"`,
	}
	f.wantNothingStored(t, func() {
		for _, text := range append(badAmounts, "0", `"0"`) {
			f.session().post(religiousPath+"mudaraba", religiousForm("mudaraba").with("capital_amount", text).json()).wantFaults("capital_amount")
			contract.act("record_loss", "amount", text).wantFaults("amount")
		}
		for _, text := range badAmounts {
			contract.act("distribute_profit", "gross_profit", text, "period_end_date", `"2026-09-03"`).wantFaults("gross_profit")
		}
	})
	contract.mustAct("distribute_profit", "gross_profit", "0", "period_end_date", `"2026-09-03"`)
}

// Integers that are not amounts have bounds in the religious family too.
func TestOtherIntegersAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for field, productType := range map[string]string{"term_months": "mudaraba", "instalments": "murabaha", "maturity_months": "sukuk", "lease_term_months": "ijara"} {
		for _, text := range []string{"9223372036854775808", "9223372036854775807", "0", "-1", "1.0", "1e1", `"12"`} {
			f.session().post(religiousPath+productType, religiousForm(productType).with(field, text).json()).wantFaults(field)
		}
	}
}

// Responses show a religious contract with neutral column names, such as asset_cost instead of a term of Islamic finance, and
// without its empty fields: null, "", [] and {} are empty, 0 and false are not. The expected texts are written by hand from the
// specification's tables.
func TestEmptyFieldsAreOmitted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for productType, want := range map[string]string{
		"murabaha": `"region":"AE","currency":"AED","customer_id":"SOMEONE","asset_description":"A milling machine","asset_cost":1000,"markup_rate":10,` +
			`"instalments":4,"markup_amount":100,"sale_price":1100,"instalment_amount":275,"total_paid":0,"outstanding":0,"profit_recognised":0,` +
			`"deferred_profit":0,"delinquent_amount":0,"days_past_due":0,`,
		"mudaraba": `"region":"AE","currency":"AED","customer_id":"SOMEONE","capital_amount":1000,"business_type":"trade",` +
			`"profit_sharing_ratio":{"bank":50,"customer":50},"term_months":12,"mandate_type":"restricted","current_value":0,"bank_profit_share":0,` +
			`"customer_profit_share":0,"total_loss":0,`,
		"ijara": `"region":"AE","currency":"AED","customer_id":"SOMEONE","lease_type":"operating","asset_description":"A lorry of 12 t","asset_cost":1200,` +
			`"lease_term_months":12,"monthly_rental":100,"purchase_option":false,"total_rentals_due":1200,"total_rentals_paid":0,` +
			`"total_owner_expenses":0,"arrears_amount":0,"rent_receivable":0,`,
		"sukuk": `"region":"AE","currency":"AED","name":"Tower A","backing_type":"lease","underlying_asset":"An office tower","underlying_asset_value":1000,` +
			`"total_value":1000,"certificate_value":100,"expected_yield":5,"maturity_months":12,"early_redemption_allowed":false,` +
			`"certificates_total":10,"certificates_outstanding":0,"total_profit_distributed":0,"isin":"ISIN","subscriptions_total":0,"holders_total":0,`,
	} {
		r := f.session().post(religiousPath+productType, religiousForm(productType).with(
			"metadata", `{ }`, "asset_specifications", `{ }`, "supplier", "null", "business_restrictions", "[]", "asset_type", "null", "note", `""`,
			"business_description", `""`, "asset_location", `""`, "min_subscription", "null",
		).json()).want(201, "")
		got := strings.NewReplacer(customerID, "SOMEONE", r.at("data.isin"), "ISIN").Replace(r.body)
		start, end := strings.Index(got, `"region"`), strings.Index(got, `"inserted_at"`)
		head := fmt.Sprintf(`{"data":{"id":%q,"product_type":%q,"organization_id":%q,"contract_number":%q,"status":"draft","env":"prod",`,
			r.at("data.id"), productType, f.seed.First.Org, r.at("data.contract_number"))
		if start < 0 || end < start || got[:start] != head || got[start:end] != want {
			t.Errorf("%s:\n%s\nwant\n%s%s", productType, got, head, want)
		}
		if isin := r.at("data.isin"); productType == "sukuk" && !strings.HasPrefix(isin, "AESKK") {
			t.Errorf("the code is %s", isin)
		}
	}
}

// The client's metadata is returned unchanged. Its empty members stay too.
func TestReligiousMetadataIsReturnedUnchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const sent = `{"a":null,"b":"","c":[],"d":{},"e":0.10,"f":[1,{"g":null}]}`
	contract := f.createReligious("mudaraba", "metadata", sent)
	contract.read().wantTexts(`"metadata":` + sent + `,`)
	contract.actWith("reject", refusal).want(200, "").wantTexts(`"metadata":{"a":null,"b":"","c":[],"d":{},"e":0.10,"f":[1,{"g":null}]},"rejection_reason":"not permitted"`)
}

// A creation with missing or wrong fields is refused, and the response names the fields, as in the secular family of endpoints.
func TestReligiousCreatesAreValidated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.wantNothingStored(t, func() {
		for _, productType := range productTypes {
			form := religiousForm(productType)
			for name := range form {
				if name == "currency" && productType == "wadiah" {
					continue // without a currency the region's is used
				}
				f.session().post(religiousPath+productType, form.with(name, "").json()).wantFaults(name)
			}
			f.session().post(religiousPath+productType, form.with("region", `"FR"`).json()).wantFaults("region")
			f.session().post(religiousPath+productType, form.with("env", `"staging"`).json()).wantFaults("env")
			f.session().post(religiousPath+productType, form.with("screening_id", `"`+customerID+`"`).json()).wantFaults("screening_id")
			f.session().post(religiousPath+productType, form.with("screening_id", `"x"`).json()).wantFaults("screening_id")
			f.session().post(religiousPath+productType, "[]").wantFaults("body")
			f.session().post(religiousPath+productType, `{"a":1,"a":2}`).want(400, "")
		}
	})
}

package api_test

import "testing"

// An empty optional text is treated as null. An empty required text is refused, and so is an empty
// choice, id or date.
func TestEmptyTextIsNullOrRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.wantNothingStored(t, func() {
		for product, names := range map[string][]string{
			"certificate-issues":  {"name", "underlying_asset", "env", "redemption_mode", "subscription_start"},
			"managed-investments": {"currency", "business_type", "mandate_type"},
			"leases":              {"asset_type", "product_id"},
			"partnerships":        {"buyout_schedule"},
		} {
			for _, name := range names {
				f.session().post(secularPath+product, forms[product].with(name, `""`).json()).wantFaults(name)
			}
		}
	})
	f.createSecular("investment-deposits", "account_id", `""`, "opened_by", `""`).read().wantData("account_id", "null", "opened_by", "null")
	lease := f.createSecular("leases", "currency", `""`, "asset_location", `""`)
	lease.read().wantData("currency", "AED", "asset_location", "null")
	lease.mustActAll(`acquire ownership_documents ["deed"]`, "activate")
	lease.mustAct("expense", "amount", `"1"`, "description", `"a bolt"`, "type", `""`)
	lease.read().wantTexts(`"type":"maintenance"`)
}

// The refusal of a bad amount says which form amounts have: strings in the secular family of endpoints, integers or strings in
// the religious one.
func TestBadAmountErrorNamesTheFamilysForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const stringsOnly, integersOrStrings = "must be a string of minor units", "must be minor units, as an integer or a string of digits"
	for _, badAmount := range []string{"1.5", `"1.5"`, `"x"`, "-1", "true"} {
		f.session().post(secularPath+"managed-investments", forms["managed-investments"].with("capital_amount", badAmount).json()).
			want(422, `{"error":"unprocessable_entity","details":{"capital_amount":["`+stringsOnly+`"]}}`)
		f.session().post(religiousPath+"mudaraba", religiousForm("mudaraba").with("capital_amount", badAmount).json()).
			want(422, `{"error":"unprocessable_entity","details":{"capital_amount":["`+integersOrStrings+`"]}}`)
	}
	contract := f.createReligious("wadiah")
	if r := contract.act("grant_hibah", "amount", "1.0", "granted_by", `"board"`).wantFaults("amount"); r.at("details.amount.0") != integersOrStrings {
		t.Errorf("an action gets %s", r.body)
	}
}

package api_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// JSON values that a field of a kind refuses, such as a date. A field that refuses badSum accepts zero; a field that refuses
// badAmount does not.
var (
	badText     = []string{`1`, `true`, `[]`, `{}`, `"  "`, `"` + strings.Repeat("a", 256) + `"`}
	badNote     = []string{`1`, `true`, `[]`, `"  "`, `"` + strings.Repeat("a", 2001) + `"`}
	badLongText = append([]string{`"ten chars."`, `"short"`}, badNote...)
	badChoice   = []string{`"other"`, `"Lease"`, `1`, `true`, `[]`, `{}`, `""`}
	badUUID     = []string{`"x"`, `1`, `"{` + customerID + `}"`, `"urn:uuid:` + customerID + `"`, `"7c2b8a0e2d534b1f9d2c0b5a6f1e3c01"`, `[]`}
	badDate     = []string{`"2026-02-30"`, `"2026-13-01"`, `"2026-2-3"`, `"20260203"`, `"03.02.2026"`, `"2026-02-03T00:00:00Z"`, `20260203`, `"tomorrow"`, `"1969-12-31"`, `"9001-01-01"`, `"0000-00-00"`}
	badFlag     = []string{`"true"`, `0`, `1`, `"yes"`, `[]`}
	badObject   = []string{`1`, `"x"`, `[]`, `true`, `{"a":"` + strings.Repeat("b", 65<<10) + `"}`}
	badTextList = []string{`"x"`, `{}`, `[1]`, `["a",""]`, `["a"," "]`, `[["a"]]`, `["` + strings.Repeat("a", 256) + `"]`, `[` + strings.Repeat(`"a",`, 100) + `"a"]`}
	badRatio    = []string{`{"bank":-10,"customer":110}`, `{"bank":50,"customer":49}`, `{"bank":100}`, `{"bank":"50","customer":"50"}`, `{"bank":50.0,"customer":50}`, `[50,50]`, `50`, `"50:50"`, `{}`, `{"Bank":50,"Customer":50}`, `{"bank":101,"customer":-1}`, `{"bank":9223372036854775807,"customer":1}`}
	badInteger  = []string{`1.0`, `1e2`, `1.5`, `"3"`, `-1`, `9223372036854775807`, `9223372036854775808`, `99999999999999999999999999`, `true`, `[]`}

	badSum = []string{
		`1000`, `1`, `1.5`, `"-1"`, `"+1"`, `"01"`, `"00"`, `"1.5"`, `"1e3"`, `" 1"`, `"1 "`, `""`, `"0x10"`, `"1,000"`, `"١٢"`, `true`, `[]`, `{}`,
		`"1` + strings.Repeat("0", 71) + `1"`, `"1` + strings.Repeat("0", 73) + `"`, `"` + strings.Repeat("9", 78) + `"`, `"` + strings.Repeat("9", 4096) + `"`,
	}
	badAmount = append([]string{`"0"`}, badSum...)
)

// invalidIntegers returns the JSON values that an integer field refuses: badInteger, and the given integers outside the field's
// bounds.
func invalidIntegers(outside ...string) []string { return append(slices.Clone(badInteger), outside...) }

// fieldRule says which values a field of a contract accepts.
type fieldRule struct {
	required        bool
	accepted        []string // accepted values, which are shown as sent
	refused         []string
	requiredMembers []string // name, value pairs that must be sent with the field
}

// quoteWords returns the words of a list as JSON strings.
func quoteWords(list string) (quoted []string) {
	for _, word := range strings.Fields(list) {
		quoted = append(quoted, `"`+word+`"`)
	}
	return quoted
}

// maxAmountJSON is 10^72, the largest amount.
var maxAmountJSON = `"1` + strings.Repeat("0", 72) + `"`

var (
	customerField  = fieldRule{required: true, accepted: []string{`"` + otherCustomerID + `"`}, refused: badUUID}
	regionField    = fieldRule{required: true, accepted: quoteWords("AE SA BH QA KW OM MY ID PK BD EG JO TR KZ UZ AZ KG RU GB"), refused: []string{`"US"`, `"ae"`, `"A"`, `"ARE"`, `""`, `1`, `"XX"`}}
	currencyField  = fieldRule{accepted: quoteWords("AED SAR BHD QAR KWD OMR MYR IDR PKR BDT EGP JOD TRY KZT UZS AZN KGS RUB GBP USD EUR"), refused: []string{`"JPY"`, `"usd"`, `"USDT"`, `1`, `" "`}}
	metadataField  = fieldRule{accepted: []string{`{}`, `{"a":1}`}, refused: badObject}
	productIDField = fieldRule{accepted: []string{`"` + otherCustomerID + `"`}, refused: badUUID}
	frequencyField = fieldRule{accepted: quoteWords("monthly quarterly semi_annually annually"), refused: append([]string{`"weekly"`, `"at_maturity"`}, badChoice...)}
	ratioField     = fieldRule{required: true, accepted: []string{`{"bank":0,"customer":100}`, `{"bank":100,"customer":0}`, `{"bank":33,"customer":67}`}, refused: badRatio}
)

func (c fieldRule) asRequired() fieldRule { c.required = true; return c }

// contractFields is the specification's table of each product's fields, "Resources and their
// fields". The fields of the last two products are from the specification's table of entries.
var contractFields = map[string]map[string]fieldRule{
	"certificate-issues": {
		"name": {required: true, accepted: []string{`"A"`, `"Ünïcode عقد"`}, refused: append([]string{`""`}, badText...)}, "region": regionField, "currency": currencyField, "metadata": metadataField, "product_id": productIDField,
		"backing_type":                  {required: true, accepted: quoteWords("lease managed_investment partnership installment_sale manufacturing forward_purchase"), refused: badChoice},
		"underlying_asset":              {required: true, accepted: []string{`"Eleven char"`, `"أحد عشر حرف"`}, refused: badLongText},
		"underlying_asset_value":        {required: true, accepted: []string{`"1000"`, maxAmountJSON}, refused: append([]string{`"999"`}, badAmount...)},
		"total_value":                   {required: true, accepted: []string{`"100"`, `"900"`}, refused: append([]string{`"950"`, `"99"`}, badAmount...)},
		"certificate_value":             {required: true, accepted: []string{`"1"`, `"1000"`, `"8"`}, refused: badAmount},
		"expected_yield":                {required: true, accepted: []string{`1`, `50`}, refused: invalidIntegers(`0`, `51`)},
		"maturity_months":               {required: true, accepted: []string{`1`, `360`}, refused: invalidIntegers(`0`, `361`)},
		"min_subscription":              {accepted: []string{`1`, `10`}, refused: invalidIntegers(`0`)},
		"max_subscription":              {accepted: []string{`1`, `10`}, refused: invalidIntegers(`0`)},
		"profit_distribution_frequency": frequencyField,
		"redemption_mode":               {accepted: quoteWords("bullet amortizing callable"), refused: badChoice},
		"early_redemption_allowed":      {accepted: []string{`true`, `false`}, refused: badFlag},
		"early_redemption_penalty":      {accepted: []string{`"0"`, `"5"`}, refused: badSum},
		"subscription_start":            {accepted: []string{`"2026-09-03"`, `"2028-02-29"`}, refused: append([]string{`"2027-02-29"`}, badDate...)},
		"subscription_end":              {accepted: []string{`"2026-09-03"`}, refused: badDate},
		"originator_id":                 productIDField, "spv_id": productIDField,
		"underlying_asset_type": {accepted: []string{`"building"`}, refused: badText},
	},
	"managed-investments": {
		"customer_id": customerField, "region": regionField, "currency": currencyField.asRequired(), "metadata": metadataField, "profit_sharing_ratio": ratioField,
		"capital_amount":        {required: true, accepted: []string{`"1"`, maxAmountJSON}, refused: badAmount},
		"business_type":         {required: true, accepted: []string{`"trade"`}, refused: append([]string{`""`}, badText...)},
		"term_months":           {required: true, accepted: []string{`1`, `120`}, refused: invalidIntegers(`0`, `121`)},
		"mandate_type":          {accepted: quoteWords("restricted unrestricted"), refused: badChoice},
		"business_restrictions": {accepted: []string{`["no alcohol"]`, `["a","b"]`}, refused: badTextList},
		"business_description":  {accepted: []string{`"Buys and sells"`}, refused: badNote},
		"reporting_frequency":   frequencyField,
	},
	"leases": {
		"customer_id": customerField, "region": regionField, "currency": currencyField, "metadata": metadataField, "product_id": productIDField,
		"lease_type":            {required: true, accepted: quoteWords("operating finance"), refused: badChoice, requiredMembers: []string{"purchase_option_price", `"1"`}},
		"asset_description":     {required: true, accepted: []string{`"Eleven char"`}, refused: badLongText},
		"asset_cost":            {required: true, accepted: []string{`"1"`, maxAmountJSON}, refused: badAmount},
		"lease_term_months":     {required: true, accepted: []string{`1`, `240`}, refused: invalidIntegers(`0`, `241`)},
		"monthly_rental":        {required: true, accepted: []string{`"1"`}, refused: append([]string{maxAmountJSON}, badAmount...)},
		"purchase_option_price": {accepted: []string{`"1"`, `"1200"`}, refused: append([]string{`"1201"`}, badAmount...), requiredMembers: []string{"lease_type", `"finance"`}},
		"asset_type":            {accepted: quoteWords("vehicle equipment real_estate aircraft vessel machinery"), refused: badChoice},
		"advance_rental":        {accepted: []string{`"1"`}, refused: append([]string{maxAmountJSON}, badAmount...)},
		"security_deposit":      {accepted: []string{`"1"`, maxAmountJSON}, refused: badAmount},
		"residual_value":        {accepted: []string{`"1"`, `"1200"`}, refused: append([]string{`"1201"`}, badAmount...)},
		"asset_serial_number":   {accepted: []string{`"WDB123"`}, refused: badText},
		"asset_location":        {accepted: []string{`"Dubai"`}, refused: badText},
		"asset_specifications":  {accepted: []string{`{"power":[1,2]}`}, refused: badObject},
	},
	"partnerships": {
		"customer_id": customerField, "region": regionField, "currency": currencyField, "metadata": metadataField, "profit_sharing_ratio": ratioField,
		"partnership_type":      {required: true, accepted: quoteWords("permanent diminishing"), refused: badChoice, requiredMembers: []string{"term_months", `12`}},
		"total_value":           {required: true, accepted: []string{`"1000"`}, refused: append([]string{`"999"`, `"1001"`}, badAmount...)},
		"bank_contribution":     {required: true, accepted: []string{`"600"`}, refused: badAmount},
		"customer_contribution": {required: true, accepted: []string{`"400"`}, refused: badAmount},
		"term_months":           {accepted: []string{`1`, `1200`}, refused: invalidIntegers(`0`, `1201`)},
		"buyout_schedule":       frequencyField,
		"rental_amount":         {accepted: []string{`"1"`, maxAmountJSON}, refused: badAmount},
		"asset_description":     {accepted: []string{`"A warehouse"`}, refused: badNote},
	},
	"investment-deposits": {
		"customer_id": customerField, "region": regionField, "currency": currencyField.asRequired(), "metadata": metadataField, "product_id": productIDField, "profit_sharing_ratio": ratioField,
		"initial_amount":                   {required: true, accepted: []string{`"1"`, maxAmountJSON}, refused: badAmount},
		"term_months":                      {required: true, accepted: []string{`1`, `120`}, refused: invalidIntegers(`0`, `121`)},
		"investment_type":                  {accepted: quoteWords("general restricted"), refused: badChoice},
		"investment_restrictions":          {accepted: []string{`["no weapons"]`}, refused: badTextList},
		"distribution_frequency":           {accepted: quoteWords("monthly quarterly semi_annually at_maturity"), refused: append([]string{`"annually"`}, badChoice...)},
		"indicative_rate":                  {accepted: []string{`0`, `7`}, refused: badInteger},
		"early_withdrawal_allowed":         {accepted: []string{`true`, `false`}, refused: badFlag},
		"early_withdrawal_penalty_percent": {accepted: []string{`0`, `100`}, refused: invalidIntegers(`101`)},
		"auto_renewal":                     {accepted: []string{`true`, `false`}, refused: badFlag},
		"account_id":                       {accepted: []string{`"DE02 1203"`}, refused: badText},
		"opened_by":                        {accepted: []string{`"teller 7"`}, refused: badText},
	},
	"instalment-sales": {
		"customer_id": customerField, "region": regionField, "currency": currencyField.asRequired(), "metadata": metadataField,
		"asset_description": {required: true, accepted: []string{`"Eleven char"`}, refused: badLongText},
		"asset_cost":        {required: true, accepted: []string{`"1"`}, refused: append([]string{maxAmountJSON}, badAmount...)},
		"markup_rate":       {required: true, accepted: []string{`0`, `100`}, refused: invalidIntegers(`101`)},
		"instalments":       {required: true, accepted: []string{`1`, `360`}, refused: invalidIntegers(`0`, `361`)},
		"down_payment":      {accepted: []string{`"0"`, `"1099"`}, refused: append([]string{`"1100"`}, badSum...)},
		"earnest_deposit":   {accepted: []string{`"0"`, `"1099"`}, refused: append([]string{`"1100"`}, badSum...)},
		"supplier":          {accepted: []string{`{"name":"Mill & Co","reference":"PO-7"}`}, refused: []string{`"Mill"`, `{}`, `{"name":""}`, `{"name":1}`, `[]`, `{"name":"a","reference":1}`}},
		"asset_type":        {accepted: []string{`"machinery"`}, refused: badText},
	},
	"safekeeping-deposits": {
		"customer_id": customerField, "region": regionField, "currency": currencyField, "metadata": metadataField,
		"custody_type":   {required: true, accepted: quoteWords("guaranteed trust"), refused: badChoice},
		"initial_amount": {required: true, accepted: []string{`"1"`, maxAmountJSON}, refused: badAmount},
		"account_id":     {accepted: []string{`"DE02 1203"`}, refused: badText},
	},
}

// "Resources and their fields": a required field that is missing or null gets 422 with its name.
func TestMissingRequiredFieldIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.wantNothingStored(t, func() {
		for _, product := range products {
			var names []string
			for _, name := range slices.Sorted(maps.Keys(contractFields[product])) {
				if !contractFields[product][name].required {
					continue
				}
				names = append(names, name)
				for _, absent := range []string{"", "null"} {
					r := f.session().post(secularPath+product, forms[product].with(name, absent).json()).wantFaults(name)
					if got := r.at("details." + name + ".0"); got != "is required" {
						t.Errorf("%s without %s: %s", product, name, got)
					}
				}
			}
			for _, body := range []string{"{}", ""} {
				f.session().post(secularPath+product, body).wantFaults(names...)
			}
		}
	})
}

// Specification, "Dates and numbers" and the bounds of each field: a value outside them is refused
// with the field's name, in the specification's error shape, and nothing is stored.
func TestContractFieldsOutsideTheirBoundsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.wantNothingStored(t, func() {
		for _, product := range products {
			for name, c := range contractFields[product] {
				for _, value := range c.refused {
					r := f.session().post(secularPath+product, forms[product].with(c.requiredMembers...).with(name, value).json())
					if r.status != 422 || r.at("details."+name) == "(absent)" {
						t.Errorf("%s with %s %.80s: %d %s", product, name, value, r.status, r.body)
					}
				}
			}
		}
	})
}

// Values within the bounds are stored, and shown as they were sent.
func TestContractFieldsWithinTheirBoundsAreShownAsSent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, product := range products {
		for name, c := range contractFields[product] {
			for _, value := range c.accepted {
				r := f.session().post(secularPath+product, forms[product].with(c.requiredMembers...).with(neededMembers(product, name, value)...).with(name, value).json())
				var got struct {
					Data map[string]json.RawMessage
				}
				must(t, json.Unmarshal([]byte(r.body), &got))
				if shown := string(got.Data[name]); r.status != 201 || shown != value {
					t.Errorf("%s with %s %.80s: %d, shown as %s (%.200s)", product, name, value, r.status, shown, r.body)
				}
			}
		}
	}
}

// neededMembers returns the members to send with a value that would contradict the product's form, as
// name, value pairs.
func neededMembers(product, name, value string) []string {
	if product == "leases" && name == "asset_cost" {
		return []string{"monthly_rental", `"1"`}
	}
	return nil
}

// A field that was not sent has its default, or is null if there is no default.
func TestOmittedContractFieldsHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	defaults := map[string]members{
		"certificate-issues":   {"early_redemption_allowed": "false"},
		"managed-investments":  {"mandate_type": "restricted"},
		"leases":               {"purchase_option": "false"},
		"partnerships":         {"buyout_schedule": "monthly"},
		"investment-deposits":  {"investment_type": "general", "early_withdrawal_allowed": "false", "auto_renewal": "false"},
		"safekeeping-deposits": {},
		"instalment-sales":     {},
	}
	wantEveryProduct(t, defaults)
	for _, product := range products {
		r := f.session().post(secularPath+product, forms[product].json()).want(201, "")
		r.wantData("currency", "AED", "env", "prod", "region", "AE")
		for name := range contractFields[product] {
			want, known := defaults[product][name]
			switch {
			case known:
			case forms[product][name] != "" || name == "currency":
				continue
			default:
				want = "null"
			}
			if got := r.at("data." + name); got != want {
				t.Errorf("%s: %s is %s, want %s", product, name, got, want)
			}
		}
	}
}

// "Contracts carry a region, a currency": without a currency the region's is used.
func TestContractCurrencyDefaultsToTheRegions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for region, want := range map[string]string{"BH": "BHD", "RU": "RUB", "GB": "GBP", "ID": "IDR", "TR": "TRY"} {
		for _, product := range []string{"certificate-issues", "leases", "partnerships"} {
			f.session().post(secularPath+product, forms[product].with("region", `"`+region+`"`).json()).want(201, "").wantData("currency", want)
			f.session().post(secularPath+product, forms[product].with("region", `"`+region+`"`, "currency", `"EUR"`).json()).want(201, "").wantData("currency", "EUR")
		}
	}
	for _, absent := range []string{`""`, "null", ""} {
		for _, product := range []string{"managed-investments", "investment-deposits", "instalment-sales"} {
			f.session().post(secularPath+product, forms[product].with("currency", absent).json()).wantFaults("currency")
		}
	}
}

// "Derived": a field that the service computes from others can't be set by a request.
func TestDerivedFieldsOfAContractCannotBeSet(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	common := []string{"id", "contract_number", "status", "inserted_at", "updated_at", "compliance_review"}
	table := map[string]string{
		"certificate-issues":   "certificates_total certificates_outstanding profit_distributions total_profit_distributed actual_yield next_distribution_date isin subscriptions maturity_date",
		"managed-investments":  "current_value actual_end_date profit_distributions",
		"leases":               "total_rentals_due total_rentals_paid payment_schedule total_owner_expenses owner_expenses return_date transfer_date purchase_option",
		"partnerships":         "bank_ownership_percent customer_ownership_percent units_total buyout_unit_value units_bought buyout_history total_profit total_loss bank_profit_share customer_profit_share rental_paid_total start_date expected_end_date next_buyout_date",
		"investment-deposits":  "current_value customer_profit_share bank_profit_share profit_distributions closed_at maturity_date",
		"instalment-sales":     "markup_amount sale_price instalment_amount payment_schedule total_paid outstanding profit_recognised deferred_profit delinquent_amount days_past_due completed_at",
		"safekeeping-deposits": "balance hibah_total hibah_history closed_at",
	}
	wantEveryProduct(t, table)
	for product, derived := range table {
		contract := f.session().post(secularPath+product, forms[product].json()).want(201, "")
		for _, name := range append(strings.Fields(derived), common...) {
			if contract.at("data."+name) == "(absent)" {
				t.Errorf("%s shows no %s", product, name)
			}
			for _, value := range []string{`"77"`, `77`, `["77"]`} {
				r := f.session().post(secularPath+product, forms[product].with(name, value).json()).want(201, "")
				if got := r.at("data." + name); strings.Trim(got, `[]"`) == "77" {
					t.Errorf("%s: %s was set to %s", product, name, got)
				}
			}
		}
	}
}

// Every record has id, contract_number, status, inserted_at and updated_at. Contract numbers are
// gap-free for each organization and prefix.
func TestContractNumbersAreGapFreePerProduct(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	table := map[string]string{
		"certificate-issues": "CI", "managed-investments": "MI", "leases": "LS", "partnerships": "PN", "investment-deposits": "ID",
		"instalment-sales": "IS", "safekeeping-deposits": "SD",
	}
	wantEveryProduct(t, table)
	for product, prefix := range table {
		for i := range 3 {
			if i == 1 {
				f.session().post(secularPath+product, `{}`).want(422, "") // a refused request takes no number
			}
			r := f.createSecular(product).read()
			r.wantData("contract_number", prefix+"-2026-00000"+string(rune('1'+i)), "status", r.at("data.status"))
			if r.at("data.inserted_at") != r.at("data.updated_at") || !strings.HasPrefix(r.at("data.inserted_at"), "2026-09-03T10:15:30.") {
				t.Errorf("%s", r.body)
			}
		}
	}
}

// "indicative_rate: informational only, not used in any calculation".
func TestIndicativeRateDoesNotAffectAmounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var outcomes []string
	for _, rate := range []string{"", `0`, `50`} {
		contract := f.createSecular("investment-deposits", "indicative_rate", rate, "early_withdrawal_allowed", "true").mustActAll("activate", `profit gross_profit "100"`, `withdraw closed_by "teller"`)
		outcomes = append(outcomes, contract.read().at("data.metadata")+strings.Join(contract.entries(), "\n"))
	}
	if outcomes[0] != outcomes[1] || outcomes[0] != outcomes[2] {
		t.Errorf("by their rates deposits ended as\n%s", strings.Join(outcomes, "\n"))
	}
}

// A finance lease must have an option to buy with a price; a diminishing partnership must have
// a term; total_value must be the sum of the two contributions.
func TestContractTypeHasItsOwnRequiredFields(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	create := func(product string, pairs ...string) *response {
		return f.session().post(secularPath+product, forms[product].with(pairs...).json())
	}
	create("leases", "lease_type", `"finance"`).wantFaults("purchase_option_price")
	create("leases", "lease_type", `"finance"`, "purchase_option_price", `"1"`).want(201, "").wantData("purchase_option", "true")
	create("partnerships", "partnership_type", `"diminishing"`).wantFaults("term_months")
	create("partnerships", "total_value", `"1001"`).wantFaults("total_value")
	create("certificate-issues", "min_subscription", `5`, "max_subscription", `4`).wantFaults("max_subscription")
	create("certificate-issues", "subscription_start", `"2026-09-05"`, "subscription_end", `"2026-09-04"`).wantFaults("subscription_end")
	manyFaults := members{"partnership_type": `"both"`, "total_value": `1`, "profit_sharing_ratio": `{"bank":-10,"customer":110}`}
	f.session().post(secularPath+"partnerships", manyFaults.json()).
		wantFaults("bank_contribution", "customer_contribution", "customer_id", "partnership_type", "profit_sharing_ratio", "region", "total_value")
}

// A contract may name the screening on which it is based. That screening must exist in the organization.
func TestContractMustNameAnExistingScreening(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	screeningID := f.session().get("/api/v1/baas/islamic-banking/screen?subject=asset&region=AE&description=lorry").want(200, "").at("data.screening_id")
	for _, product := range products {
		f.createSecular(product, "screening_id", `"`+screeningID+`"`).read().wantData("screening_id", screeningID)
		f.wantNothingStored(t, func() {
			for _, unknownID := range append([]string{`"` + customerID + `"`, `""`}, badUUID...) {
				f.session().post(secularPath+product, forms[product].with("screening_id", unknownID).json()).wantFaults("screening_id")
			}
		})
	}
}

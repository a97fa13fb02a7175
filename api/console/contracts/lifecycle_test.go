package contracts_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"mizan/api/console/consoletest"
	"mizan/internal/testkit"
	"mizan/ledger/contract"
)

// person is the id of a customer or holder.
const person = "7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01"

// step is an action of a lifecycle. It has the fields that a person fills in, as name, value pairs, and the status after the
// action, as the English pages call it. An action "+days" moves the clock.
type step struct {
	action string
	fields []string
	status string
}

// lifecycle describes how a test takes a contract of a product from its creation to its end, only with the forms of pages.
type lifecycle struct {
	fields []string // fields of the creation form, as name, value pairs; amounts are in major units
	steps  []step
	texts  []string // what the contract's page shows in the end
}

// fatwa has the fields of a compliance review. They are in the creation form of products that have no separate action for the
// review.
var fatwa = []string{"compliance_review.approved_by", "Dr. Amin", "compliance_review.fatwa_reference", "F-7/2026"}

func fields(pairs ...string) []string { return pairs }

// lifecycles has a row for each product and reading, written by hand from docs/contracts.md.
var lifecycles = map[string]lifecycle{
	"pfp/certificate-issues": {
		fields("name", "Ten lorries", "region", "AE", "backing_type", "lease", "underlying_asset", "Ten lorries of 12 t", "underlying_asset_value", "10000",
			"total_value", "10000", "certificate_value", "10.00", "expected_yield", "7", "maturity_months", "1", "early_redemption_allowed", "true"),
		[]step{
			{"submit", nil, "Under review"}, {"review", fields("approved_by", "Dr. Amin"), "Review passed"},
			{"offering", fields("subscription_start", "$today", "subscription_end", "$today"), "Offering"},
			{"subscribe", fields("investor_id", person, "certificates", "1000"), "Offering"}, {"close_subscription", nil, "Subscribed"},
			{"activate", nil, "Active"}, {"profit", fields("total_profit", "400"), "Active"}, {"+40", nil, ""}, {"mature", nil, "Matured"},
			{"redeem", fields("redemption_date", "$today"), "Redeemed"}},
		[]string{"CI-", "Ten lorries", "AED 10,000.00", "AED 400.00", "AED 0.40", "Subscriptions", "The contract has ended."},
	},
	"islamic-banking/sukuk": {
		fields("name", "Ten lorries", "region", "AE", "backing_type", "lease", "underlying_asset", "Ten lorries of 12 t", "underlying_asset_value", "10000",
			"total_value", "10000", "certificate_value", "10.00", "expected_yield", "7", "maturity_months", "1"),
		[]step{
			{"approve", fields("approved_by", "Dr. Amin", "fatwa_reference", "F-7", "board_id", "SB-1"), "Review passed"},
			{"start_offering", fields("subscription_start", "$today", "subscription_end", "$today"), "Offering"},
			{"subscribe", fields("investor_id", person, "certificates", "1000"), "Offering"}, {"activate", nil, "Active"},
			{"distribute_profit", fields("total_profit", "400.5"), "Active"}, {"default", fields("reason", "the lessee is insolvent"), "Defaulted"}},
		[]string{"SUK-", "Face value of a sukuk certificate", "AED 400.50", "the lessee is insolvent", "F-7", "SB-1"},
	},
	"pfp/managed-investments": {
		fields("customer_id", person, "region", "AE", "currency", "AED", "capital_amount", "5000", "business_type", "import of tea",
			"profit_sharing_ratio.bank", "50", "profit_sharing_ratio.customer", "50", "term_months", "12", "business_restrictions", "no futures\nno debt"),
		[]step{
			{"fund", nil, "Funded"}, {"activate", nil, "Active"}, {"profit", fields("gross_profit", "200", "period_end_date", "$today"), "Active"},
			{"loss", fields("amount", "50"), "Active"}, {"complete", fields("final_value", "5,050.01"), "Completed"}},
		[]string{"MI-", "no futures", "no debt", "Losses", "AED 50.00", "Returned to the bank", "AED 0.01"},
	},
	"islamic-banking/mudaraba": {
		fields("customer_id", person, "region", "AE", "currency", "AED", "capital_amount", "5000", "business_type", "import of tea",
			"profit_sharing_ratio.bank", "50", "profit_sharing_ratio.customer", "50", "term_months", "12"),
		[]step{
			{"approve", fields("approved_by", "Dr. Amin", "fatwa_reference", "F-7"), "Review passed"}, {"fund", nil, "Funded"}, {"activate", nil, "Active"},
			{"distribute_profit", fields("gross_profit", "200", "period_end_date", "$today"), "Active"}, {"record_loss", fields("amount", "6000"), "Liquidated"}},
		[]string{"MDR-", "Manager (mudarib)", "Capital owner's profit", "AED 100.00"},
	},
	"pfp/leases": {
		fields("customer_id", person, "region", "AE", "lease_type", "operating", "asset_description", "A lorry of 12 t", "asset_cost", "120000",
			"lease_term_months", "12", "monthly_rental", "6000", "security_deposit", "500", "asset_type", "vehicle"),
		[]step{
			{"acquire", fields("ownership_documents", "deed 7"), "Asset acquired"}, {"activate", fields("delivery_date", "$today"), "Active"}, {"+40", nil, ""},
			{"arrears", fields("amount", "6000"), "Active"}, {"payment", fields("amount", "6000"), "Active"},
			{"expense", fields("amount", "120.55", "description", "new tyres"), "Active"}, {"return", nil, "Completed"}},
		[]string{"LS-", "Lessee", "Payment schedule", "Paid: 1. Late: 0. Open: 11.", "Cancelled", "new tyres", "AED 120.55"},
	},
	"islamic-banking/ijara": {
		fields("customer_id", person, "region", "AE", "lease_type", "finance", "asset_description", "A lorry of 12 t", "asset_cost", "120000",
			"lease_term_months", "12", "monthly_rental", "6000", "purchase_option_price", "1000"),
		[]step{
			{"approve", fields("approved_by", "Dr. Amin", "fatwa_reference", "F-7"), "Review passed"},
			{"acquire_asset", fields("ownership_documents", "deed 7"), "Asset acquired"}, {"activate", nil, "Active"},
			{"record_rental", fields("amount", "72000"), "Active"}, {"mark_transfer_pending", nil, "Transfer pending"}, {"transfer_ownership", nil, "Completed"}},
		[]string{"IJR-", "Lessee (musta'jir)", "Monthly rental (ujrah)", "Paid: 12. Late: 0. Open: 0."},
	},
	"pfp/partnerships": {
		fields("customer_id", person, "region", "AE", "partnership_type", "diminishing", "total_value", "10000", "bank_contribution", "6000",
			"customer_contribution", "4000", "profit_sharing_ratio.bank", "50", "profit_sharing_ratio.customer", "50", "term_months", "3"),
		[]step{
			{"submit", nil, "Under review"}, {"review", fields("approved_by", "Dr. Amin"), "Review passed"}, {"fund", nil, "Funded"}, {"activate", nil, "Active"},
			{"profit", fields("gross_profit", "200", "period_end_date", "$today"), "Active"}, {"loss", fields("amount", "100"), "Active"},
			{"buyout", nil, "Buyout in progress"}, {"buyout", fields("units", "2"), "Completed"}},
		[]string{"PN-", "Units bought out", "Last loss"},
	},
	"islamic-banking/musharaka": {
		append(fields("customer_id", person, "region", "AE", "partnership_type", "diminishing", "total_value", "10000", "bank_contribution", "6000",
			"customer_contribution", "4000", "profit_sharing_ratio.bank", "50", "profit_sharing_ratio.customer", "50", "term_months", "3"), fatwa...),
		[]step{{"buyout_unit", fields("units", "3"), "Completed"}},
		[]string{"MSH-", "Partner (sharik)", "Units bought out", "F-7/2026"},
	},
	"pfp/investment-deposits": {
		fields("customer_id", person, "region", "KW", "currency", "KWD", "initial_amount", "1000.125", "term_months", "1",
			"profit_sharing_ratio.bank", "40", "profit_sharing_ratio.customer", "60", "early_withdrawal_allowed", "true"),
		[]step{
			{"activate", nil, "Active"}, {"profit", fields("gross_profit", "10"), "Active"}, {"loss", fields("amount", "2"), "Active"}, {"+31", nil, ""},
			{"mature", nil, "Matured"}, {"renew", fields("term_months", "2"), "Active"}, {"withdraw", fields("closed_by", "branch 3"), "Withdrawn"},
			{"close", fields("closed_by", "branch 3"), "Closed"}},
		[]string{"ID-", "KWD 1,004.125", "branch 3"},
	},
	"pfp/instalment-sales": {
		fields("customer_id", person, "region", "AE", "currency", "AED", "asset_description", "A milling machine", "asset_cost", "10000", "markup_rate", "10",
			"instalments", "4", "supplier.name", "Tools and Sons", "earnest_deposit", "100"),
		[]step{
			{"order_asset", fields("supplier_deposit", "1000"), "Asset ordered"}, {"purchase_asset", fields("ownership_documents", "bill 7"), "Asset purchased"},
			{"deliver_asset", nil, "Asset delivered"}, {"activate", nil, "Active"}, {"record_payment", fields("amount", "2725"), "Active"},
			{"record_delinquency", fields("amount", "10"), "Active"}, {"settle_early", fields("rebate", "100"), "Completed"}},
		[]string{"IS-", "Tools and Sons", "AED 11,000.00", "Settled early"},
	},
	"islamic-banking/murabaha": {
		fields("customer_id", person, "region", "AE", "currency", "AED", "asset_description", "A milling machine", "asset_cost", "10000", "markup_rate", "10", "instalments", "4"),
		[]step{
			{"approve", fields("approved_by", "Dr. Amin", "fatwa_reference", "F-7"), "Review passed"}, {"order_asset", nil, "Asset ordered"},
			{"purchase_asset", fields("ownership_documents", "bill 7"), "Asset purchased"}, {"deliver_asset", nil, "Asset delivered"}, {"activate", nil, "Active"},
			{"record_delinquency", fields("amount", "0"), "Active"}, {"record_payment", fields("amount", "11,000.00"), "Completed"}},
		[]string{"MRB-", "Buyer (amir bi-sh-shira')", "Profit margin (ribh), %", "Paid: 4. Late: 0. Open: 0."},
	},
	"pfp/safekeeping-deposits": {
		fields("customer_id", person, "region", "AE", "custody_type", "guaranteed", "initial_amount", "1000"),
		[]step{
			{"activate", nil, "Active"}, {"deposit", fields("amount", "5"), "Active"}, {"withdraw", fields("amount", "3"), "Active"},
			{"grant_hibah", fields("amount", "0.25", "granted_by", "branch 3"), "Active"}, {"close", fields("closed_by", "branch 3"), "Closed"}},
		[]string{"SD-", "Gifts (hibah)", "AED 0.25"},
	},
	"islamic-banking/wadiah": {
		append(fields("customer_id", person, "region", "AE", "custody_type", "guaranteed", "initial_amount", "1000"), fatwa...),
		[]step{{"grant_hibah", fields("amount", "0.25", "granted_by", "branch 3"), "Active"}},
		[]string{"WAD-", "Depositor (mudi')", "AED 1,000.25"},
	},
}

// testEveryProductLivesByForms creates a contract of each product in each reading with the forms of pages, and takes it through
// its lifecycle. After each step, every impossible action on the page has a reason instead of a link.
func testEveryProductLivesByForms(t *testing.T, s *testkit.Server) {
	for _, reading := range contract.Readings {
		for _, product := range contract.Products {
			if product.Variants[reading] == nil {
				continue
			}
			name := reading.Path[strings.LastIndexByte(reading.Path, '/')+1:] + "/" + product.Variants[reading].Name
			life, found := lifecycles[name]
			if !found {
				t.Errorf("there is no lifecycle of %s", name)
				continue
			}
			t.Run(name, func(t *testing.T) { life.run(t, s, name) })
		}
	}
}

func (life *lifecycle) run(t *testing.T, s *testkit.Server, name string) {
	b, list := client(t, s), root+name
	created := fill(b.Get(list+"/new").Want(200).Form(list+"/new"), s, life.fields).Submit("").Want(200, "What may be done now", "History")
	path, _, _ := strings.Cut(created.Path, "?")
	b.Get(list).Want(200).Want(200, created.Title())
	for _, step := range life.steps {
		if strings.HasPrefix(step.action, "+") {
			advance(t, s, step.action[1:])
			b = client(t, s) // the session has ended meanwhile
			continue
		}
		checkActions(t, b.Get(path).Want(200), path)
		checkTranslated(t, b.With("Accept-Language", "ru").Get(path).Want(200))
		page := fill(b.Get(path+"/"+step.action).Want(200).Form(path+"/"+step.action), s, step.fields).Submit("").Want(200)
		if !strings.HasPrefix(page.Path, path+"?") || !strings.Contains(page.Text(), "Status "+step.status) {
			t.Fatalf("%s leads to %s: %.1500s", step.action, page.Path, page.Text())
		}
	}
	b.Get(path).Want(200, life.texts...)
	for _, below := range []string{"/entries", "/events"} {
		b.Get(path+below).Want(200, "When")
	}
}

// checkActions checks the page's table of actions: each action has either a link to its form or a reason why it is impossible.
func checkActions(t *testing.T, page *consoletest.Page, path string) {
	t.Helper()
	links := page.Links()
	for _, row := range page.Rows() {
		if len(row) != 3 || !strings.HasPrefix(row[1], "Possible") && !strings.HasPrefix(row[1], "Not now") {
			continue
		}
		isLink := false
		for _, l := range links {
			isLink = isLink || strings.HasPrefix(l, path+"/") && strings.HasPrefix(row[1], "Possible")
		}
		if reason := strings.TrimSpace(strings.TrimPrefix(row[1], "Not now")); strings.HasPrefix(row[1], "Not now") && (reason == "" || strings.ContainsAny(reason, "_{")) {
			t.Errorf("%s: %q is not possible for the reason %q", page.Path, row[0], reason)
		}
	}
}

// latin matches words in Latin letters, such as names of the API, in a Russian text.
var latin = regexp.MustCompile(`[a-z_]{3,}`)

// checkTranslated checks that the table of actions on a Russian page has no word in another language.
func checkTranslated(t *testing.T, page *consoletest.Page) {
	t.Helper()
	found := false
	for _, row := range page.Rows() {
		if len(row) == 3 && (strings.HasPrefix(row[1], "Можно") || strings.HasPrefix(row[1], "Не сейчас")) {
			found = true
			if word := latin.FindString(strings.Join(row, " ")); word != "" {
				t.Errorf("%s: %q has %q", page.Path, row, word)
			}
		}
	}
	if !found {
		t.Errorf("%s has no table of actions", page.Path)
	}
}

// fill fills in the fields of a form.
func fill(f *consoletest.Form, s *testkit.Server, pairs []string) *consoletest.Form {
	for i := 0; i < len(pairs); i += 2 {
		value := pairs[i+1]
		if value == "$today" {
			value = today(s)
		}
		f.Set(pairs[i], value)
	}
	return f
}

func today(s *testkit.Server) string {
	answer, err := s.Admin().Get("/api/v1/sandbox/clock")
	if err != nil {
		return err.Error()
	}
	var clock struct{ Now string }
	if err := answer.JSON(&clock); err != nil || len(clock.Now) < 10 {
		return fmt.Sprint(err, string(answer.Body))
	}
	return clock.Now[:10]
}

func advance(t *testing.T, s *testkit.Server, days string) {
	t.Helper()
	answer, err := s.Admin().Put("/api/v1/sandbox/clock", map[string]any{"advance_seconds": daysIn(days) * 86_400})
	testkit.WantStatus(t, answer, err, 200)
}

func daysIn(text string) (days int) {
	for _, r := range text {
		days = days*10 + int(r-'0')
	}
	return days
}

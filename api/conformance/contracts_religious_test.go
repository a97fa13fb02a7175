package conformance_test

import (
	"strings"
	"testing"
)

// Tests of the religious contract API, as a bank uses it. The contracts are in env test, so that their amounts are not mixed with
// those of other tests.

const islamic = v1 + "/baas/islamic-banking/"

// fatwa is the body of a board's approval.
var fatwa = []any{"approved_by", "Dr. Amin", "fatwa_reference", "F-7/2026"}

// createReligious creates a contract of a product type. members are the names and values of its body.
func createReligious(t testing.TB, productType string, members ...any) *contractFixture {
	t.Helper()
	return createContract(t, islamic+productType, members...)
}

func TestSukukPenaltiesAndRemaindersGoToCharity(t *testing.T) {
	contract := createReligious(t, "sukuk", "customer_id", absent, "name", "Tower A", "backing_type", "lease", "underlying_asset", "An office tower",
		"underlying_asset_value", 1200, "total_value", 1000, "certificate_value", "100", "expected_yield", 5, "maturity_months", 12,
		"early_redemption_allowed", true, "early_redemption_penalty", 35)
	contract.act("start_offering", "subscription_start", today(t, 0), "subscription_end", today(t, 10)).wantConflict()
	contract.mustAct("approve", append(fatwa, "board_id", "SB-1")...).has("data.status", "review_passed", "data.compliance_review.board_id", "SB-1")
	contract.act("approve", fatwa...).wantConflict()
	contract.mustAct("start_offering", "subscription_start", today(t, 0), "subscription_end", today(t, 10)).has("data.status", "offering")
	contract.subscribe("a", 3).want(200)
	contract.subscribe("b", 4).want(200)
	contract.mustAct("close_subscription")
	contract.mustAct("activate").has("data.status", "active")
	contract.mustAct("distribute_profit", "total_profit", 100).hasRaw("data.total_profit_distributed", "100", "data.profit_distributions.0.per_certificate", "14")
	contract.mustAct("redeem_early", "redemption_date", today(t, 0)).has("data.status", "redeemed")
	contract.wantEntries(
		"subscribe: Dr A:cash:AE 300, Cr L:subscription:{this}:{a} 300",
		"subscribe: Dr A:cash:AE 400, Cr L:subscription:{this}:{b} 400",
		"activate: Dr L:subscription:{this}:{a} 300, Cr Q:holders:{this}:{a} 300, Dr L:subscription:{this}:{b} 400, Cr Q:holders:{this}:{b} 400, Dr A:underlying:{this} 700, Cr A:cash:AE 700",
		"profit: Dr A:cash:AE 100, Cr L:customer:{a}:current 42, Cr L:customer:{b}:current 56, Cr L:undistributed:{this} 2",
		"redeem_early: Dr A:cash:AE 700, Cr A:underlying:{this} 700, Dr Q:holders:{this}:{a} 300, Cr L:customer:{a}:current 285, Dr Q:holders:{this}:{b} 400, Cr L:customer:{b}:current 380, "+
			"Cr L:charity 35, Dr L:undistributed:{this} 2, Cr L:charity 2",
	)
	report := contract.get(islamic + "charity?env=test").want(200)
	var given []string
	for i, source := range report.column("source") {
		if strings.HasSuffix(contract.path, source) {
			given = append(given, report.column("amount")[i])
		}
	}
	if strings.Join(given, " ") != "2 35" {
		t.Errorf("the report says %v of it: %s", given, report.body)
	}
}

func TestMudarabaMovesNoMoneyBeforeItsReview(t *testing.T) {
	contract := createReligious(t, "mudaraba", "currency", "AED", "capital_amount", 9007199254740993, "business_type", "trade", "profit_sharing_ratio", halfAndHalf, "term_months", 12)
	contract.act("fund").wantConflict()
	contract.act("approve", "approved_by", "Dr. Amin").wantRefused("fatwa_reference")
	contract.act("approve", "approved_by", " ", "fatwa_reference", "F-7").wantRefused("approved_by")
	contract.wantEntries()
	contract.wantData("compliance_review", absent)
	contract.mustAct("approve", fatwa...)
	contract.mustAct("fund").hasRaw("data.current_value", "9007199254740993", "data.capital_amount", "9007199254740993")
	contract.mustAct("activate")
	contract.mustAct("record_loss", "amount", 1).hasRaw("data.current_value", "9007199254740992")
	contract.mustAct("complete", "final_value", 1).has("data.status", "completed")
	contract.wantEntries(
		"fund: Dr A:mudaraba:{this} 9007199254740993, Cr A:cash:AE 9007199254740993",
		"loss: Dr E:mudaraba_loss 1, Cr A:mudaraba:{this} 1",
		"complete: Dr A:cash:AE 9007199254740992, Cr A:mudaraba:{this} 9007199254740992",
	)
	contract.get(pfp+"managed-investments"+strings.TrimPrefix(contract.path, islamic+"mudaraba")).wantBody(404, `{"error":"not_found","message":"no such contract"}`)
}

func TestIjaraRentFallsDueAsTheClockMoves(t *testing.T) {
	contract := createReligious(t, "ijara", "lease_type", "operating", "asset_description", "A lorry of 12 t", "asset_cost", 1200, "residual_value", 600, "lease_term_months", 3, "monthly_rental", 100)
	contract.mustAct("approve", fatwa...)
	contract.mustAct("acquire_asset", "ownership_documents", []string{"deed"})
	contract.mustAct("activate")
	advance(t, 61*oneDay)
	contract.mustAct("record_rental", "amount", 150).hasRaw("data.rent_receivable", "50", "data.total_rentals_paid", "150")
	contract.mustAct("return_asset").has("data.status", "completed")
	contract.wantEntries(
		"acquire: Dr A:ijara_asset:{this} 1200, Cr A:cash:AE 1200",
		"rent_due: Dr A:rent_receivable:{this} 100, Cr I:rent 100, Dr E:depreciation 200, Cr A:accumulated_depreciation:{this} 200",
		"rent_due: Dr A:rent_receivable:{this} 100, Cr I:rent 100, Dr E:depreciation 200, Cr A:accumulated_depreciation:{this} 200",
		"payment: Dr A:cash:AE 150, Cr A:rent_receivable:{this} 150",
		"return: Dr A:accumulated_depreciation:{this} 400, Dr A:returned_assets 800, Cr A:ijara_asset:{this} 1200",
	)
}

func TestMurabahaIsPaidToItsEnd(t *testing.T) {
	contract := createReligious(t, "murabaha", "currency", "AED", "asset_description", "A milling machine", "asset_cost", 1000, "markup_rate", 10, "instalments", 4)
	for _, action := range []string{"order_asset", "purchase_asset", "deliver_asset", "activate"} {
		contract.act(action, "ownership_documents", []string{"bill"}).wantConflict()
	}
	contract.mustAct("approve", fatwa...)
	contract.mustAct("order_asset")
	contract.mustAct("purchase_asset", "ownership_documents", []string{"bill"})
	contract.mustAct("deliver_asset")
	contract.mustAct("activate").hasRaw("data.outstanding", "1100", "data.payment_schedule.0.profit_part", "25")
	contract.mustAct("record_payment", "amount", 1100).has("data.status", "completed")
	contract.act("settle_early", "rebate", 1).want(422).has("message", "Unsupported action: settle_early")
	contract.wantBalance("A:receivable:{this}", "0")
}

func TestMusharakaAndWadiahBeginWithTheirReview(t *testing.T) {
	review := params{"approved_by": "Dr. Amin", "fatwa_reference": "F-7/2026"}
	m := createReligious(t, "musharaka", "compliance_review", review, "partnership_type", "diminishing", "total_value", 1000, "bank_contribution", 600,
		"customer_contribution", 400, "profit_sharing_ratio", halfAndHalf, "term_months", 2)
	m.wantData("status", "active", "compliance_review.fatwa_reference", "F-7/2026")
	m.mustAct("buyout_unit", "units", 2).has("data.status", "completed")
	m.wantBalance("A:musharaka:{this}", "0")
	w := createReligious(t, "wadiah", "compliance_review", review, "custody_type", "guaranteed", "initial_amount", 1000)
	w.mustAct("grant_hibah", "amount", 5, "granted_by", "the board").hasRaw("data.balance", "1005")
	w.wantBalance("L:wadiah:{this}", "1005")
	for _, productType := range []string{"musharaka", "wadiah"} {
		m.post(islamic+productType, params{"region": "AE"}).want(422).has("details.compliance_review.0", "is required")
	}
	m.get(islamic+"salam").wantBody(400, `{"error":"bad_request","message":"there is no such product_type"}`)
}

func TestScreeningIsStoredAndLinkedToItsContract(t *testing.T) {
	board := bearer(t, testServer(t).Sandbox.SessionToken)
	found := board.get(islamic + "screen?subject=asset&region=AE&asset_type=office%20tower&debt_percent=30.5").want(200)
	found.has("data.decision", "fail", "data.rules.1.code", "debt_ratio", "data.rules.1.outcome", "fail", "data.ruleset_version", "1")
	id := found.at("data.screening_id")
	board.get(islamic+"screen/"+id).want(200).has("data.given.debt_percent", "30.5", "data.decision", "fail")
	contract := createReligious(t, "ijara", "screening_id", id, "lease_type", "operating", "asset_description", "A lorry of 12 t", "asset_cost", 1200, "lease_term_months", 3, "monthly_rental", 100)
	contract.mustAct("reject", "reason", "too much debt").has("data.status", "rejected", "data.rejection_reason", "too much debt")
	contract.get(contract.path+"/review").want(200).has("data.conclusion", "rejected", "data.screening.screening_id", id, "data.screening.decision", "fail")
}

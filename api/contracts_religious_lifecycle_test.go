package api_test

import "testing"

// A murabaha posts the entries of the specification, "Instalment sale (murabaha)", in each step of
// its lifecycle.
func TestMurabahaLifecycle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("murabaha", "down_payment", `50`, "earnest_deposit", `"50"`)
	contract.approve().mustActAll("order_asset supplier_deposit 300", `purchase_asset ownership_documents ["bill"]`, "deliver_asset", "activate", "record_delinquency amount 5", "record_payment amount 500", "record_payment amount 500")
	contract.wantEntries(
		"order_asset 2026-09-03: Dr A:cash:AE 50, Cr L:earnest_deposit:{c} 50, Dr A:supplier_advance:{c} 300, Cr A:cash:AE 300",
		"purchase_asset 2026-09-03: Dr A:inventory:{c} 1000, Cr A:supplier_advance:{c} 300, Cr A:cash:AE 700",
		"deliver_asset 2026-09-03: Dr A:inventory_delivered:{c} 1000, Cr A:inventory:{c} 1000",
		"activate 2026-09-03: Dr A:receivable:{c} 1100, Cr A:inventory_delivered:{c} 1000, Cr L:deferred_profit:{c} 100, "+
			"Dr A:cash:AE 50, Dr L:earnest_deposit:{c} 50, Cr A:receivable:{c} 100, Dr L:deferred_profit:{c} 9, Cr I:murabaha 9",
		"record_delinquency 2026-09-03: Dr M:arrears:{c} 5, Cr M:arrears_control 5",
		"record_payment 2026-09-03: Dr A:cash:AE 500, Cr A:receivable:{c} 500, Dr L:deferred_profit:{c} 45, Cr I:murabaha 45",
		"record_payment 2026-09-03: Dr A:cash:AE 500, Cr A:receivable:{c} 500, Dr L:deferred_profit:{c} 46, Cr I:murabaha 46, Dr M:arrears_control 5, Cr M:arrears:{c} 5",
	)
	contract.read().wantData("status", "completed", "total_paid", "1100", "outstanding", "0", "profit_recognised", "100", "delinquent_amount", "0")
}

// A sale before the bank owns the asset gets 409. The religious family has no rebate and no cancellation.
func TestMurabahaSellsOnlyOwnedAssets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("murabaha").approve()
	for _, action := range []string{"activate", "deliver_asset"} {
		contract.act(action).wantConflict()
	}
	contract.actWith("purchase_asset", religiousActions["murabaha"]["purchase_asset"]).wantConflict()
	contract.mustActAll("order_asset")
	for _, action := range []string{"activate", "deliver_asset"} {
		contract.act(action).wantConflict()
	}
	contract.mustActAll(`purchase_asset ownership_documents ["bill"]`)
	contract.act("activate").wantConflict()
	for _, secularAction := range []string{"cancel", "settle_early"} {
		contract.act(secularAction, "rebate", `"1"`).wantFaults("action")
	}
	contract.read().wantData("status", "asset_purchased")
}

// A profit, a loss and the end of a mudaraba post the entries of the specification, "Managed investment
// (mudaraba)".
func TestMudarabaLifecycle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("mudaraba").approve()
	contract.mustActAll("fund", "activate", `distribute_profit gross_profit 101 period_end_date "2026-09-03"`, `record_loss amount "20" period_end_date "2026-09-03"`, "complete final_value 1000")
	contract.wantEntries(
		"fund 2026-09-03: Dr A:mudaraba:{c} 1000, Cr A:cash:AE 1000",
		"profit 2026-09-03: Dr A:mudaraba:{c} 50, Dr A:venture_due:{c} 51, Cr I:mudaraba 50, Cr L:manager_profit:{c} 51, Dr L:manager_profit:{c} 51, Cr A:venture_due:{c} 51",
		"loss 2026-09-03: Dr E:mudaraba_loss 20, Cr A:mudaraba:{c} 20",
		"complete 2026-09-03: Dr A:cash:AE 1030, Cr A:mudaraba:{c} 1030",
	)
	contract.read().wantData("status", "completed", "metadata.final_settlement", `{"returned_to_bank":1030,"total_loss":20,"total_profit":50,"variance":-30}`,
		"metadata.losses", `[{"date":"2026-09-03","loss_amount":20,"new_value":1030}]`)
}

// Specification: a loss that leaves nothing liquidates the contract; there is no action for it.
func TestMudarabaIsLiquidatedByItsLosses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("mudaraba").approve().mustActAll("fund", "activate")
	contract.mustAct("record_loss", "amount", "5000").wantData("status", "liquidated", "current_value", "0", "total_loss", "1000", "actual_end_date", "2026-09-03")
	contract.act("complete", "final_value", "1").wantConflict()
}

// Specification, entries of "Partnership (musharaka)": the creation funds and activates the contract; the
// customer then buys the bank's units, up to the last one.
func TestMusharakaLifecycle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("musharaka", "partnership_type", `"diminishing"`, "term_months", "3")
	contract.read().wantData("status", "active", "start_date", "2026-09-03", "units_total", "3", "compliance_review", `{"approved_by":"Dr. Amin","fatwa_reference":"F-7/2026"}`)
	contract.mustAct("buyout_unit").wantData("status", "buyout_in_progress", "units_bought", "1", "customer_ownership_percent", "60")
	contract.mustAct("buyout_unit", "units", "2").wantData("status", "completed", "customer_ownership_percent", "100", "bank_ownership_percent", "0")
	contract.wantEntries(
		"fund 2026-09-03: Dr A:musharaka:{c} 600, Cr A:cash:AE 600, Dr M:venture_assets:{c} 400, Cr M:partner_capital:{c} 400",
		"buyout 2026-09-03: Dr A:cash:AE 200, Cr A:musharaka:{c} 200, Dr M:venture_assets:{c} 200, Cr M:partner_capital:{c} 200",
		"buyout 2026-09-03: Dr A:cash:AE 400, Cr A:musharaka:{c} 400, Dr M:venture_assets:{c} 400, Cr M:partner_capital:{c} 400, "+
			"Dr M:partner_capital:{c} 1000, Cr M:venture_assets:{c} 1000",
	)
	f.createReligious("musharaka").act("buyout_unit").wantFaults("partnership_type")
}

// Specification, entries of "Safekeeping deposit (wadiah)": it is funded at its creation, then the
// bank gives the customer a gift (hibah).
func TestWadiahLifecycle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("wadiah")
	contract.mustAct("grant_hibah", "amount", "7", "granted_by", `"the board"`, "note", `"Eid"`).wantData("balance", "1007", "hibah_total", "7",
		"hibah_history", `[{"amount":7,"date":"2026-09-03","granted_by":"the board","note":"Eid"}]`)
	contract.wantEntries("activate 2026-09-03: Dr A:cash:AE 1000, Cr L:wadiah:{c} 1000", "grant_hibah 2026-09-03: Dr E:hibah 7, Cr L:wadiah:{c} 7")
	trustDeposit := f.createReligious("wadiah", "custody_type", `"trust"`)
	trustDeposit.act("grant_hibah", "amount", "7", "granted_by", `"the board"`).wantFaults("custody_type")
	trustDeposit.wantEntries("activate 2026-09-03: Dr A:segregated_cash:{c} 1000, Cr L:trust:{c} 1000")
}

// Specification, entries of "Lease (ijara)": the rows of the payment schedule become due as the clock moves,
// and the lessee gets the asset when all rent is paid.
func TestIjaraLifecycle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("ijara", "lease_type", `"finance"`, "purchase_option_price", "200", "lease_term_months", "2", "security_deposit", "30").approve()
	contract.mustActAll(`acquire_asset ownership_documents ["deed"]`, "activate", `record_owner_expense amount 3 description "tyres"`, "record_arrears amount 4")
	f.advanceDays(31)
	contract.mustActAll("record_rental amount 150", "mark_transfer_pending")
	contract.act("transfer_ownership").wantFaults("total_rentals_paid")
	contract.mustActAll("record_rental amount 50", "transfer_ownership")
	contract.wantEntries(
		"acquire 2026-09-03: Dr A:ijara_asset:{c} 1200, Cr A:cash:AE 1200",
		"activate 2026-09-03: Dr A:cash:AE 30, Cr L:security_deposit:{c} 30",
		"expense 2026-09-03: Dr E:owner_expense 3, Cr A:cash:AE 3",
		"arrears 2026-09-03: Dr M:arrears:{c} 4, Cr M:arrears_control 4",
		"rent_due 2026-10-03: Dr A:rent_receivable:{c} 100, Cr I:rent 100, Dr E:depreciation 500, Cr A:accumulated_depreciation:{c} 500",
		"payment 2026-10-04: Dr A:cash:AE 150, Cr A:rent_receivable:{c} 100, Cr L:prepaid_rent:{c} 50",
		"payment 2026-10-04: Dr A:cash:AE 50, Cr L:prepaid_rent:{c} 50",
		"transfer 2026-10-04: Dr A:rent_receivable:{c} 100, Cr I:rent 100, Dr L:prepaid_rent:{c} 100, Cr A:rent_receivable:{c} 100, "+
			"Dr E:depreciation 500, Cr A:accumulated_depreciation:{c} 500, Dr A:cash:AE 200, Dr A:accumulated_depreciation:{c} 1000, Cr A:ijara_asset:{c} 1200, "+
			"Dr L:security_deposit:{c} 30, Cr A:cash:AE 30, Dr M:arrears_control 4, Cr M:arrears:{c} 4",
	)
	contract.read().wantData("status", "completed", "transfer_date", "2026-10-04", "total_rentals_paid", "200")
	returnedLease := f.createReligious("ijara").approve().mustActAll(`acquire_asset ownership_documents ["deed"]`, "activate")
	returnedLease.mustAct("return_asset").wantData("status", "completed", "return_date", "2026-10-04")
	terminatedLease := f.createReligious("ijara").approve().mustActAll(`acquire_asset ownership_documents ["deed"]`, "activate")
	terminatedLease.mustAct("terminate", "reason", `"lost"`).wantData("status", "terminated")
}

// Specification, entries of "Certificate issue (sukuk)": in the religious family a holder's penalty for
// early redemption goes to charity, and so does the remainder that can't be divided.
func TestSukukLifecycle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.activeSukuk("early_redemption_allowed", "true", "early_redemption_penalty", "15")
	contract.mustAct("distribute_profit", "total_profit", "31").wantData("total_profit_distributed", "31", "actual_yield", "3")
	contract.mustAct("redeem_early", "redemption_date", `"2026-09-04"`).wantData("status", "redeemed", "certificates_outstanding", "0")
	contract.wantEntries(
		"subscribe 2026-09-03: Dr A:cash:AE 100, Cr L:subscription:{c}:{p} 100",
		"subscribe 2026-09-03: Dr A:cash:AE 200, Cr L:subscription:{c}:{q} 200",
		"activate 2026-09-03: Dr L:subscription:{c}:{p} 100, Cr Q:holders:{c}:{p} 100, Dr L:subscription:{c}:{q} 200, Cr Q:holders:{c}:{q} 200, "+
			"Dr A:underlying:{c} 300, Cr A:cash:AE 300",
		"profit 2026-09-03: Dr A:cash:AE 31, Cr L:customer:{p}:current 10, Cr L:customer:{q}:current 20, Cr L:undistributed:{c} 1",
		"redeem_early 2026-09-04: Dr A:cash:AE 300, Cr A:underlying:{c} 300, Dr Q:holders:{c}:{p} 100, Cr L:customer:{p}:current 95, "+
			"Dr Q:holders:{c}:{q} 200, Cr L:customer:{q}:current 190, Cr L:charity 15, Dr L:undistributed:{c} 1, Cr L:charity 1",
	)
}

// activeSukuk creates an active issue of sukuk. One holder has one certificate, the other has two. The changes to the
// form are name, value pairs.
func (f *fixture) activeSukuk(changes ...string) *contractFixture {
	f.t.Helper()
	contract := f.createReligious("sukuk", changes...).approve()
	contract.actWith("start_offering", religiousActions["sukuk"]["start_offering"]).want(200, "")
	contract.mustAct("subscribe", "investor_id", `"`+customerID+`"`, "certificates", "1")
	contract.mustAct("subscribe", "investor_id", `"`+otherCustomerID+`"`, "certificates", "2")
	return contract.mustActAll("close_subscription", "activate")
}

// Specification, "Certificate issue": an issue ends at maturity or by default.
func TestSukukMaturesOrDefaults(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	maturing := f.activeSukuk("maturity_months", "1")
	maturing.act("mature").wantFaults("maturity_date")
	maturing.act("redeem_early", "redemption_date", `"2026-09-04"`).wantFaults("early_redemption_allowed")
	defaulting := f.activeSukuk()
	f.advanceDays(30)
	maturing.mustActAll("mature", `redeem redemption_date "2026-10-03"`)
	maturing.read().wantData("status", "redeemed", "redemption_date", "2026-10-03")
	defaulting.mustAct("default", "reason", `"the tower fell"`).wantData("status", "defaulted", "metadata.default_reason", "the tower fell")
}

// The religious family's payment schedules are available as CSV at that family's paths.
func TestReligiousSchedulesAreReadAsCSV(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("murabaha").approve().mustActAll("order_asset", `purchase_asset ownership_documents ["bill"]`, "deliver_asset", "activate")
	r := contract.get(contract.path+"/schedule.csv").want(200, "payment_number,due_date,amount,cost_part,profit_part,status\n"+
		"1,2026-10-03,275,250,25,pending\n2,2026-11-02,275,250,25,pending\n3,2026-12-02,275,250,25,pending\n4,2027-01-01,275,250,25,pending\n")
	if text := r.header.Get("content-disposition"); text != `attachment; filename="MRB-2026-000001.csv"` {
		t.Errorf("it is offered as %q", text)
	}
}

package api_test

import "testing"

// POSTINGS, "Instalment sale (murabaha)", to its end.
func TestALifeOfMurabaha(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.vows("murabaha", "down_payment", `50`, "earnest_deposit", `"50"`)
	d.approved().follows("order_asset supplier_deposit 300", `purchase_asset ownership_documents ["bill"]`, "deliver_asset", "activate", "record_delinquency amount 5", "record_payment amount 500", "record_payment amount 500")
	d.hasMoved(
		"order_asset 2026-09-03: Dr A:cash:AE 50, Cr L:earnest_deposit:{c} 50, Dr A:supplier_advance:{c} 300, Cr A:cash:AE 300",
		"purchase_asset 2026-09-03: Dr A:inventory:{c} 1000, Cr A:supplier_advance:{c} 300, Cr A:cash:AE 700",
		"deliver_asset 2026-09-03: Dr A:inventory_delivered:{c} 1000, Cr A:inventory:{c} 1000",
		"activate 2026-09-03: Dr A:receivable:{c} 1100, Cr A:inventory_delivered:{c} 1000, Cr L:deferred_profit:{c} 100, "+
			"Dr A:cash:AE 50, Dr L:earnest_deposit:{c} 50, Cr A:receivable:{c} 100, Dr L:deferred_profit:{c} 9, Cr I:murabaha 9",
		"record_delinquency 2026-09-03: Dr M:arrears:{c} 5, Cr M:arrears_control 5",
		"record_payment 2026-09-03: Dr A:cash:AE 500, Cr A:receivable:{c} 500, Dr L:deferred_profit:{c} 45, Cr I:murabaha 45",
		"record_payment 2026-09-03: Dr A:cash:AE 500, Cr A:receivable:{c} 500, Dr L:deferred_profit:{c} 46, Cr I:murabaha 46, Dr M:arrears_control 5, Cr M:arrears:{c} 5",
	)
	d.says().tells("status", "completed", "total_paid", "1100", "outstanding", "0", "profit_recognised", "100", "delinquent_amount", "0")
}

// POSTINGS: selling before owning is 409; no rebate and no cancellation in this reading.
func TestMurabahaSellsOnlyWhatIsOwned(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.vows("murabaha").approved()
	for _, early := range []string{"activate", "deliver_asset"} {
		d.asks(early).conflicts()
	}
	d.asksOf("purchase_asset", religiousActions["murabaha"]["purchase_asset"]).conflicts()
	d.follows("order_asset")
	for _, early := range []string{"activate", "deliver_asset"} {
		d.asks(early).conflicts()
	}
	d.follows(`purchase_asset ownership_documents ["bill"]`)
	d.asks("activate").conflicts()
	for _, secular := range []string{"cancel", "settle_early"} {
		d.asks(secular, "rebate", `"1"`).faults("action")
	}
	d.says().tells("status", "asset_purchased")
}

// POSTINGS, "Managed investment (mudaraba)": a profit, a loss, the end.
func TestALifeOfMudaraba(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.vows("mudaraba").approved()
	d.follows("fund", "activate", `distribute_profit gross_profit 101 period_end_date "2026-09-03"`, `record_loss amount "20" period_end_date "2026-09-03"`, "complete final_value 1000")
	d.hasMoved(
		"fund 2026-09-03: Dr A:mudaraba:{c} 1000, Cr A:cash:AE 1000",
		"profit 2026-09-03: Dr A:mudaraba:{c} 50, Dr A:venture_due:{c} 51, Cr I:mudaraba 50, Cr L:manager_profit:{c} 51, Dr L:manager_profit:{c} 51, Cr A:venture_due:{c} 51",
		"loss 2026-09-03: Dr E:mudaraba_loss 20, Cr A:mudaraba:{c} 20",
		"complete 2026-09-03: Dr A:cash:AE 1030, Cr A:mudaraba:{c} 1030",
	)
	d.says().tells("status", "completed", "metadata.final_settlement", `{"returned_to_bank":1030,"total_loss":20,"total_profit":50,"variance":-30}`,
		"metadata.losses", `[{"date":"2026-09-03","loss_amount":20,"new_value":1030}]`)
}

// Specification: a loss that leaves nothing liquidates; there is no action for it.
func TestMudarabaIsLiquidatedByItsLosses(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.vows("mudaraba").approved().follows("fund", "activate")
	d.does("record_loss", "amount", "5000").tells("status", "liquidated", "current_value", "0", "total_loss", "1000", "actual_end_date", "2026-09-03")
	d.asks("complete", "final_value", "1").conflicts()
}

// POSTINGS, "Partnership (musharaka)": creation funds and activates; units are bought
// until the last.
func TestALifeOfMusharaka(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.vows("musharaka", "partnership_type", `"diminishing"`, "term_months", "3")
	d.says().tells("status", "active", "start_date", "2026-09-03", "units_total", "3", "compliance_review", `{"approved_by":"Dr. Amin","fatwa_reference":"F-7/2026"}`)
	d.does("buyout_unit").tells("status", "buyout_in_progress", "units_bought", "1", "customer_ownership_percent", "60")
	d.does("buyout_unit", "units", "2").tells("status", "completed", "customer_ownership_percent", "100", "bank_ownership_percent", "0")
	d.hasMoved(
		"fund 2026-09-03: Dr A:musharaka:{c} 600, Cr A:cash:AE 600, Dr M:venture_assets:{c} 400, Cr M:partner_capital:{c} 400",
		"buyout 2026-09-03: Dr A:cash:AE 200, Cr A:musharaka:{c} 200, Dr M:venture_assets:{c} 200, Cr M:partner_capital:{c} 200",
		"buyout 2026-09-03: Dr A:cash:AE 400, Cr A:musharaka:{c} 400, Dr M:venture_assets:{c} 400, Cr M:partner_capital:{c} 400, "+
			"Dr M:partner_capital:{c} 1000, Cr M:venture_assets:{c} 1000",
	)
	h.vows("musharaka").asks("buyout_unit").faults("partnership_type")
}

// POSTINGS, "Safekeeping deposit (wadiah)": kept at its creation, given a gift.
func TestALifeOfWadiah(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.vows("wadiah")
	d.does("grant_hibah", "amount", "7", "granted_by", `"the board"`, "note", `"Eid"`).tells("balance", "1007", "hibah_total", "7",
		"hibah_history", `[{"amount":7,"date":"2026-09-03","granted_by":"the board","note":"Eid"}]`)
	d.hasMoved("activate 2026-09-03: Dr A:cash:AE 1000, Cr L:wadiah:{c} 1000", "grant_hibah 2026-09-03: Dr E:hibah 7, Cr L:wadiah:{c} 7")
	trust := h.vows("wadiah", "custody_type", `"trust"`)
	trust.asks("grant_hibah", "amount", "7", "granted_by", `"the board"`).faults("custody_type")
	trust.hasMoved("activate 2026-09-03: Dr A:segregated_cash:{c} 1000, Cr L:trust:{c} 1000")
}

// POSTINGS, "Lease (ijara)": the rows fall due by the clock, and the asset becomes the
// lessee's when all rent is paid.
func TestALifeOfIjara(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.vows("ijara", "lease_type", `"finance"`, "purchase_option_price", "200", "lease_term_months", "2", "security_deposit", "30").approved()
	d.follows(`acquire_asset ownership_documents ["deed"]`, "activate", `record_owner_expense amount 3 description "tyres"`, "record_arrears amount 4")
	h.passes(31)
	d.follows("record_rental amount 150", "mark_transfer_pending")
	d.asks("transfer_ownership").faults("total_rentals_paid")
	d.follows("record_rental amount 50", "transfer_ownership")
	d.hasMoved(
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
	d.says().tells("status", "completed", "transfer_date", "2026-10-04", "total_rentals_paid", "200")
	returned := h.vows("ijara").approved().follows(`acquire_asset ownership_documents ["deed"]`, "activate")
	returned.does("return_asset").tells("status", "completed", "return_date", "2026-10-04")
	ended := h.vows("ijara").approved().follows(`acquire_asset ownership_documents ["deed"]`, "activate")
	ended.does("terminate", "reason", `"lost"`).tells("status", "terminated")
}

// POSTINGS, "Certificate issue (sukuk)": what redeeming early costs a holder goes to
// charity in this reading, and so does what could not be divided.
func TestALifeOfSukuk(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.issued("early_redemption_allowed", "true", "early_redemption_penalty", "15")
	d.does("distribute_profit", "total_profit", "31").tells("total_profit_distributed", "31", "actual_yield", "3")
	d.does("redeem_early", "redemption_date", `"2026-09-04"`).tells("status", "redeemed", "certificates_outstanding", "0")
	d.hasMoved(
		"subscribe 2026-09-03: Dr A:cash:AE 100, Cr L:subscription:{c}:{p} 100",
		"subscribe 2026-09-03: Dr A:cash:AE 200, Cr L:subscription:{c}:{q} 200",
		"activate 2026-09-03: Dr L:subscription:{c}:{p} 100, Cr Q:holders:{c}:{p} 100, Dr L:subscription:{c}:{q} 200, Cr Q:holders:{c}:{q} 200, "+
			"Dr A:underlying:{c} 300, Cr A:cash:AE 300",
		"profit 2026-09-03: Dr A:cash:AE 31, Cr L:customer:{p}:current 10, Cr L:customer:{q}:current 20, Cr L:undistributed:{c} 1",
		"redeem_early 2026-09-04: Dr A:cash:AE 300, Cr A:underlying:{c} 300, Dr Q:holders:{c}:{p} 100, Cr L:customer:{p}:current 95, "+
			"Dr Q:holders:{c}:{q} 200, Cr L:customer:{q}:current 190, Cr L:charity 15, Dr L:undistributed:{c} 1, Cr L:charity 1",
	)
}

// issued is an issue of sukuk of which somebody holds one certificate and somebody
// else two.
func (h *house) issued(more ...string) *pact {
	h.t.Helper()
	d := h.vows("sukuk", more...).approved()
	d.asksOf("start_offering", religiousActions["sukuk"]["start_offering"]).want(200, "")
	d.does("subscribe", "investor_id", `"`+someone+`"`, "certificates", "1")
	d.does("subscribe", "investor_id", `"`+stranger+`"`, "certificates", "2")
	return d.follows("close_subscription", "activate")
}

// Specification, "Certificate issue": to maturity, and to default.
func TestSukukMaturesOrDefaults(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.issued("maturity_months", "1")
	d.asks("mature").faults("maturity_date")
	d.asks("redeem_early", "redemption_date", `"2026-09-04"`).faults("early_redemption_allowed")
	lost := h.issued()
	h.passes(30)
	d.follows("mature", `redeem redemption_date "2026-10-03"`)
	d.says().tells("status", "redeemed", "redemption_date", "2026-10-03")
	lost.does("default", "reason", `"the tower fell"`).tells("status", "defaulted", "metadata.default_reason", "the tower fell")
}

// DECISIONS, 7, and the figures for people: a schedule of this family is read at its own address.
func TestSchedulesOfTheReligiousFamilyAreRead(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.vows("murabaha").approved().follows("order_asset", `purchase_asset ownership_documents ["bill"]`, "deliver_asset", "activate")
	a := d.get(d.path+"/schedule.csv").want(200, "payment_number,due_date,amount,cost_part,profit_part,status\n"+
		"1,2026-10-03,275,250,25,pending\n2,2026-11-02,275,250,25,pending\n3,2026-12-02,275,250,25,pending\n4,2027-01-01,275,250,25,pending\n")
	if said := a.header.Get("content-disposition"); said != `attachment; filename="MRB-2026-000001.csv"` {
		t.Errorf("it is offered as %q", said)
	}
}

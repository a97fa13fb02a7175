package conformance_test

import (
	"fmt"
	"strings"
	"testing"
)

// newLease creates a finance lease of two months. more contains names and values of members of the request body, which replace
// the usual values. The value absent removes a member.
func newLease(t testing.TB, more ...any) *contractFixture {
	t.Helper()
	return createSecular(t, "leases", append([]any{
		"lease_type", "finance", "asset_description", "A lorry of 12 t", "asset_cost", "1200", "lease_term_months", 2, "monthly_rental", "600", "purchase_option_price", "201",
	}, more...)...)
}

func TestFinanceLeaseEndsWithTheTransfer(t *testing.T) {
	contract := newLease(t, "advance_rental", "11", "security_deposit", "50")
	contract.wantData("status", "draft", "purchase_option", "true", "total_rentals_due", "1211", "payment_schedule", "[]")
	contract.act("acquire", "ownership_documents", []string{}).wantRefused("ownership_documents")
	contract.mustAct("acquire", "ownership_documents", []string{"deed"}, "asset_registration", "B-7").has("data.status", "asset_acquired", "data.asset_registration", "B-7")
	start := today(t, -1)
	contract.mustAct("activate", "delivery_date", start).has("data.status", "active", "data.start_date", start, "data.payment_schedule",
		fmt.Sprintf(`[{"amount":"600","due_date":"%s","payment_number":1,"status":"pending"},{"amount":"600","due_date":"%s","payment_number":2,"status":"pending"}]`, today(t, 29), today(t, 59)))
	contract.act("return").wantRefused("lease_type")
	advance(t, 29*oneDay)
	contract.wantData("rent_receivable", "611")
	contract.mustAct("payment", "amount", "700").has("data.total_rentals_paid", "700", "data.payment_schedule.0.status", "paid", "data.payment_schedule.1.status", "pending", "data.rent_receivable", "0")
	contract.mustAct("arrears", "amount", "70").has("data.arrears_amount", "70", "data.total_rentals_paid", "700", "data.total_rentals_due", "1211")
	contract.mustAct("arrears", "amount", "0").has("data.arrears_amount", "0")
	contract.act("expense", "amount", "5", "description", " ").wantRefused("description")
	contract.mustAct("expense", "amount", "5", "description", "new tyres").has("data.total_owner_expenses", "5", "data.owner_expenses.0.type", "maintenance", "data.owner_expenses.0.description", "new tyres")
	contract.mustAct("transfer_pending").has("data.status", "transfer_pending")
	if text := contract.act("transfer").wantRefused("total_rentals_paid").at("details.total_rentals_paid.0"); !strings.Contains(text, "511") {
		t.Errorf("the refused transfer says %q, want the outstanding amount", text)
	}
	contract.act("payment", "amount", "512").wantRefused("amount")
	contract.mustAct("payment", "amount", "511").has("data.payment_schedule.1.status", "paid")
	contract.mustAct("transfer").has("data.status", "completed", "data.transfer_date", today(t, 0))
	contract.act("terminate", "reason", "late").wantConflict()
	contract.wantEntries(
		"acquire: Dr A:ijara_asset:{this} 1200, Cr A:cash:AE 1200",
		"activate: Dr A:rent_receivable:{this} 11, Cr L:unearned_rent:{this} 11, Dr A:cash:AE 50, Cr L:security_deposit:{this} 50",
		"rent_due: Dr A:rent_receivable:{this} 600, Cr I:rent 600, Dr L:unearned_rent:{this} 5, Cr I:rent 5, Dr E:depreciation 499, Cr A:accumulated_depreciation:{this} 499",
		"payment: Dr A:cash:AE 700, Cr A:rent_receivable:{this} 611, Cr L:prepaid_rent:{this} 89",
		"arrears: Dr M:arrears:{this} 70, Cr M:arrears_control 70",
		"arrears: Dr M:arrears_control 70, Cr M:arrears:{this} 70",
		"expense: Dr E:owner_expense 5, Cr A:cash:AE 5",
		"payment: Dr A:cash:AE 511, Cr L:prepaid_rent:{this} 511",
		"transfer: Dr A:rent_receivable:{this} 600, Cr I:rent 600, Dr L:prepaid_rent:{this} 600, Cr A:rent_receivable:{this} 600, Dr L:unearned_rent:{this} 6, Cr I:rent 6, "+
			"Dr E:depreciation 500, Cr A:accumulated_depreciation:{this} 500, Dr A:cash:AE 201, Dr A:accumulated_depreciation:{this} 999, Cr A:ijara_asset:{this} 1200, "+
			"Dr L:security_deposit:{this} 50, Cr A:cash:AE 50",
	)
}

func TestOperatingLeaseEndsWithTheReturn(t *testing.T) {
	contract := newLease(t, "lease_type", "operating", "purchase_option_price", absent)
	contract.mustAct("acquire", "ownership_documents", []string{"deed"})
	contract.mustAct("activate").has("data.purchase_option", "false")
	for _, action := range []string{"transfer_pending", "transfer"} {
		contract.act(action).wantRefused("lease_type")
	}
	contract.mustAct("return").has("data.status", "completed", "data.return_date", today(t, 0))
	contract.act("terminate", "reason", "late").wantConflict()
	contract.wantBalance("A:ijara_asset:{this}", "0")
}

func TestTerminatedLeaseAcceptsArrears(t *testing.T) {
	contract := newLease(t)
	contract.mustAct("acquire", "ownership_documents", []string{"deed"})
	contract.mustAct("activate")
	advance(t, 30*oneDay)
	contract.mustAct("terminate", "reason", "the lessee is gone").has("data.status", "terminated", "data.termination_reason", "the lessee is gone", "data.rent_receivable", "600")
	contract.act("payment", "amount", "601").wantRefused("amount")
	contract.mustAct("payment", "amount", "600").has("data.status", "terminated", "data.rent_receivable", "0")
	advance(t, 60*oneDay)
	contract.wantBalance("A:rent_receivable:{this}", "0")
}

// newPartnership creates a diminishing partnership over four quarters, to which the parties contribute 700 and 300.
func newPartnership(t testing.TB, more ...any) *contractFixture {
	t.Helper()
	return createSecular(t, "partnerships", append([]any{
		"partnership_type", "diminishing", "total_value", "1000", "bank_contribution", "700", "customer_contribution", "300", "profit_sharing_ratio", halfAndHalf,
		"term_months", 12, "buyout_schedule", "quarterly",
	}, more...)...)
}

func TestDiminishingPartnershipIsBoughtOutUnitByUnit(t *testing.T) {
	contract := newPartnership(t, "rental_amount", "100")
	contract.wantData("bank_ownership_percent", "70", "customer_ownership_percent", "30", "units_total", "4", "buyout_unit_value", "175", "units_bought", "0")
	contract.mustAct("fund").has("data.status", "funded", "data.start_date", today(t, 0), "data.expected_end_date", today(t, 360), "data.next_buyout_date", today(t, 90))
	contract.act("buyout").wantConflict()
	contract.mustAct("activate")
	contract.mustAct("buyout").has("data.status", "buyout_in_progress", "data.units_bought", "1", "data.customer_ownership_percent", "47", "data.bank_ownership_percent", "53",
		"data.next_buyout_date", today(t, 180), "data.buyout_history.0.units", "1", "data.buyout_history.0.amount", "175")
	advance(t, 90*oneDay)
	contract.wantData("rental_paid_total", "75") // floor(100 × 53 ÷ 70)
	contract.mustAct("profit", "gross_profit", "101", "period_end_date", today(t, 0)).has("data.bank_profit_share", "50", "data.customer_profit_share", "51", "data.total_profit", "101")
	contract.mustAct("loss", "amount", "10").has("data.metadata.last_loss", fmt.Sprintf(`{"amount":"10","bank_share":"5","customer_share":"5","date":"%s"}`, today(t, 0)), "data.total_loss", "10")
	contract.act("buyout", "units", 4).wantRefused("units")
	contract.mustAct("buyout", "units", 3).has("data.status", "completed", "data.customer_ownership_percent", "100", "data.bank_ownership_percent", "0", "data.next_buyout_date", "null")
	contract.wantEntries(
		"fund: Dr A:musharaka:{this} 700, Cr A:cash:AE 700, Dr M:venture_assets:{this} 300, Cr M:partner_capital:{this} 300",
		"buyout: Dr A:cash:AE 175, Cr A:musharaka:{this} 175, Dr M:venture_assets:{this} 175, Cr M:partner_capital:{this} 175",
		"rent: Dr A:cash:AE 75, Cr I:musharaka_rent 75",
		"profit: Dr A:venture_due:{this} 101, Cr I:musharaka 50, Cr L:partner_profit:{this} 51, Dr A:cash:AE 50, Dr L:partner_profit:{this} 51, Cr A:venture_due:{this} 101",
		"loss: Dr E:musharaka_loss 5, Cr A:musharaka:{this} 5, Dr M:partner_capital:{this} 5, Cr M:venture_assets:{this} 5",
		"buyout: Dr A:cash:AE 525, Cr A:musharaka:{this} 520, Cr I:unit_gain 5, Dr M:venture_assets:{this} 520, Cr M:partner_capital:{this} 520, "+
			"Dr M:partner_capital:{this} 990, Cr M:venture_assets:{this} 990",
	)
	contract.act("dissolve", "reason", "over").wantConflict()
}

func TestPermanentPartnershipIsDissolvedNotBoughtOut(t *testing.T) {
	contract := newPartnership(t, "partnership_type", "permanent", "term_months", absent, "buyout_schedule", absent)
	contract.mustAct("fund").has("data.expected_end_date", today(t, 120*30), "data.next_buyout_date", "null")
	contract.mustAct("activate")
	contract.act("buyout").wantRefused("partnership_type")
	contract.act("profit", "gross_profit", "0", "period_end_date", today(t, 30)).wantRefused("period_end_date") // the period has not ended
	advance(t, 30*oneDay)
	contract.mustAct("profit", "gross_profit", "0", "period_end_date", today(t, 0)).has("data.total_profit", "0", "data.last_profit_date", today(t, 0))
	contract.act("loss", "amount", "0").wantRefused("amount")
	contract.mustAct("dissolve", "reason", "nothing to do").has("data.status", "dissolved")
	contract.wantBalance("A:partner_receivable:{p}", "700")
	contract.wantBalance("M:partner_capital:{this}", "0")
}

func TestRejectedContractTakesNoFurtherAction(t *testing.T) {
	for product, d := range map[string]*contractFixture{"partnership": newPartnership(t), "lease": newLease(t), "issue": newIssue(t), "investment": newInvestment(t)} {
		text := "data.rejection_reason"
		if product == "partnership" {
			text = "data.metadata.rejection_reason" // where the specification puts the reason
		}
		d.act("reject", "reason", "no").wantConflict() // the contract is not under review
		d.mustAct("submit").has("data.status", "under_review")
		d.act("reject").wantRefused("reason")
		d.act("reject", "reason", "  ").wantRefused("reason")
		d.act("review").wantRefused("approved_by")
		d.mustAct("reject", "reason", "no").has("data.status", "rejected", text, "no")
		for _, action := range []string{"submit", "review", "reject"} {
			d.act(action, "approved_by", "a", "reason", "b").wantConflict()
		}
		if n := len(d.entries()); n != 0 {
			t.Errorf("a rejected %s has moved money", product)
		}
	}
}

// newDeposit creates a deposit of 10.00 for a year, whose profit is shared 30 to 70.
func newDeposit(t testing.TB, more ...any) *contractFixture {
	t.Helper()
	return createSecular(t, "investment-deposits", append([]any{
		"currency", "AED", "initial_amount", "1000", "term_months", 12, "profit_sharing_ratio", params{"bank": 30, "customer": 70},
	}, more...)...)
}

func TestDepositIsRenewedAndClosed(t *testing.T) {
	contract := newDeposit(t, "distribution_frequency", "quarterly")
	contract.act("activate", "compliance_review", params{"approved_by": " "}).wantRefused("compliance_review")
	contract.mustAct("activate", "compliance_review", params{"approved_by": "The committee"}).has("data.status", "active", "data.opening_date", today(t, 0),
		"data.maturity_date", today(t, 360), "data.next_distribution_date", today(t, 90), "data.compliance_review.approved_by", "The committee")
	contract.mustAct("profit", "gross_profit", "101").has("data.current_value", "1071", "data.customer_profit_share", "71", "data.bank_profit_share", "30", "data.next_distribution_date", today(t, 180),
		"data.profit_distributions", fmt.Sprintf(`[{"bank_share":"30","customer_share":"71","date":"%s","gross_profit":"101"}]`, today(t, 0)))
	contract.mustAct("profit", "gross_profit", "0").has("data.current_value", "1071", "data.next_distribution_date", today(t, 270))
	contract.mustAct("loss", "amount", "21", "period_end_date", today(t, 0)).has("data.current_value", "1050", "data.customer_profit_share", "71", "data.initial_amount", "1000")
	contract.act("renew").wantConflict()
	contract.act("withdraw", "closed_by", "teller").wantRefused("early_withdrawal_allowed")
	contract.act("mature").wantRefused("maturity_date")
	advance(t, 360*oneDay)
	contract.mustAct("mature").has("data.status", "matured")
	contract.act("renew", "profit_sharing_ratio", params{"bank": 30, "customer": 60}).wantRefused("profit_sharing_ratio")
	contract.mustAct("renew", "term_months", 1).has("data.status", "active", "data.initial_amount", "1050", "data.customer_profit_share", "0", "data.maturity_date", today(t, 30),
		"data.profit_sharing_ratio", `{"bank":30,"customer":70}`)
	advance(t, 30*oneDay)
	contract.mustAct("mature")
	contract.act("close").wantRefused("closed_by")
	contract.mustAct("close", "closed_by", "teller 7").has("data.status", "closed", "data.closed_by", "teller 7", "data.current_value", "1050")
	contract.act("close", "closed_by", "teller 7").wantConflict()
	contract.wantEntries(
		"activate: Dr A:cash:AE 1000, Cr Q:capital:{this} 1000, Dr A:pool 1000, Cr A:cash:AE 1000",
		"profit: Dr A:pool 101, Cr Q:profit:{this} 71, Cr I:mudarib_share 30",
		"loss: Dr Q:loss:{this} 21, Cr A:pool 21",
		"renew: Dr Q:profit:{this} 71, Cr Q:capital:{this} 71, Dr Q:capital:{this} 21, Cr Q:loss:{this} 21",
		"close: Dr Q:capital:{this} 1050, Cr L:customer:{p}:current 1050, Dr A:cash:AE 1050, Cr A:pool 1050",
	)
}

func TestEarlyWithdrawalReducesTheProfitOnly(t *testing.T) {
	contract := newDeposit(t, "early_withdrawal_allowed", true, "early_withdrawal_penalty_percent", 50)
	contract.mustAct("activate")
	contract.mustAct("profit", "gross_profit", "101")
	contract.act("withdraw").wantRefused("closed_by")
	contract.mustAct("withdraw", "closed_by", "teller 7").has("data.status", "withdrawn", "data.metadata.early_withdrawal", `{"final_value":"1036","penalty_amount":"35","penalty_percent":50}`)
	contract.mustAct("close", "closed_by", "teller 7").has("data.status", "closed")
	contract.wantBalance("L:customer:{p}:current", "1036")
	contract.wantBalance("Q:capital:{this}", "0")
	contract.wantBalance("Q:profit:{this}", "0")
}

func TestAutoRenewedDepositRenewsOnItsMaturityDate(t *testing.T) {
	contract := newDeposit(t, "term_months", 1, "auto_renewal", true)
	contract.mustAct("activate")
	first := today(t, 30)
	advance(t, 75*oneDay)
	contract.wantData("status", "active", "renewals", "2", "maturity_date", today(t, 15), "last_renewal_date", today(t, -15))
	if contract.wantData().at("data.opening_date") == first {
		t.Error("the opening date has moved")
	}
}

// newSale creates an instalment sale of 10.00 at 10 percent in three instalments.
func newSale(t testing.TB, more ...any) *contractFixture {
	t.Helper()
	return createSecular(t, "instalment-sales", append([]any{
		"currency", "AED", "asset_description", "A milling machine", "asset_cost", "1000", "markup_rate", 10, "instalments", 3,
	}, more...)...)
}

func TestInstalmentSaleIsPaidToItsEnd(t *testing.T) {
	contract := newSale(t, "down_payment", "100", "earnest_deposit", "50", "supplier", params{"name": "Mill & Co"})
	contract.wantData("markup_amount", "100", "sale_price", "1100", "instalment_amount", "316")
	for _, action := range []string{"purchase_asset", "deliver_asset", "activate", "record_payment"} { // selling before owning is refused
		contract.act(action, "ownership_documents", []string{"deed"}, "amount", "1").wantConflict()
	}
	contract.mustAct("order_asset", "supplier_deposit", "200").has("data.status", "asset_ordered")
	contract.act("deliver_asset").wantConflict()
	contract.mustAct("purchase_asset", "ownership_documents", []string{"deed"}, "actual_cost", "900").has("data.status", "asset_purchased", "data.sale_price", "990", "data.markup_amount", "90")
	contract.mustAct("deliver_asset").has("data.status", "asset_delivered")
	contract.mustAct("activate").has("data.status", "active", "data.outstanding", "840", "data.total_paid", "150", "data.profit_recognised", "13", "data.deferred_profit", "77",
		"data.payment_schedule.0.due_date", today(t, 30), "data.payment_schedule.0.amount", "280")
	contract.mustAct("record_delinquency", "amount", "280").has("data.delinquent_amount", "280")
	contract.act("record_payment", "amount", "841").wantRefused("amount")
	contract.mustAct("record_payment", "amount", "400").has("data.outstanding", "440", "data.profit_recognised", "50", "data.payment_schedule.0.status", "paid", "data.payment_schedule.1.status", "pending")
	contract.mustAct("record_payment", "amount", "440").has("data.status", "completed", "data.outstanding", "0", "data.deferred_profit", "0", "data.delinquent_amount", "0")
	contract.wantEntries(
		"order_asset: Dr A:cash:AE 50, Cr L:earnest_deposit:{this} 50, Dr A:supplier_advance:{this} 200, Cr A:cash:AE 200",
		"purchase_asset: Dr A:inventory:{this} 900, Cr A:supplier_advance:{this} 200, Cr A:cash:AE 700",
		"deliver_asset: Dr A:inventory_delivered:{this} 900, Cr A:inventory:{this} 900",
		"activate: Dr A:receivable:{this} 990, Cr A:inventory_delivered:{this} 900, Cr L:deferred_profit:{this} 90, Dr A:cash:AE 100, Dr L:earnest_deposit:{this} 50, "+
			"Cr A:receivable:{this} 150, Dr L:deferred_profit:{this} 13, Cr I:murabaha 13",
		"record_delinquency: Dr M:arrears:{this} 280, Cr M:arrears_control 280",
		"record_payment: Dr A:cash:AE 400, Cr A:receivable:{this} 400, Dr L:deferred_profit:{this} 37, Cr I:murabaha 37",
		"record_payment: Dr A:cash:AE 440, Cr A:receivable:{this} 440, Dr L:deferred_profit:{this} 40, Cr I:murabaha 40, Dr M:arrears_control 280, Cr M:arrears:{this} 280",
	)
}

func TestInstalmentSaleIsCancelledOrSettledEarly(t *testing.T) {
	contract := newSale(t)
	contract.mustAct("order_asset", "supplier_deposit", "200")
	contract.mustAct("cancel").has("data.status", "cancelled")
	contract.wantBalance("A:supplier_advance:{this}", "0")
	early := newSale(t)
	early.mustAct("order_asset")
	early.mustAct("purchase_asset", "ownership_documents", []string{"deed"})
	early.mustAct("deliver_asset")
	early.act("cancel").wantConflict()
	early.mustAct("activate")
	early.act("settle_early", "rebate", "101").wantRefused("rebate")
	early.mustAct("settle_early", "rebate", "40").has("data.status", "completed", "data.total_paid", "1060", "data.profit_recognised", "60")
	early.wantBalance("L:deferred_profit:{this}", "0")
}

// newSafekeeping creates a safekeeping deposit of 10.00.
func newSafekeeping(t testing.TB, custody string) *contractFixture {
	t.Helper()
	return createSecular(t, "safekeeping-deposits", "custody_type", custody, "initial_amount", "1000")
}

func TestSafekeepingDepositReturnsItsMoney(t *testing.T) {
	contract := newSafekeeping(t, "guaranteed")
	contract.wantData("status", "pending", "balance", "0")
	contract.act("grant_hibah", "amount", "1", "granted_by", "board").wantConflict()
	contract.mustAct("activate").has("data.status", "active", "data.balance", "1000")
	contract.mustAct("deposit", "amount", "500").has("data.balance", "1500")
	contract.act("withdraw", "amount", "1501").wantRefused("amount")
	contract.mustAct("withdraw", "amount", "300").has("data.balance", "1200")
	contract.mustAct("grant_hibah", "amount", "7", "granted_by", "The board", "note", "thanks").has("data.balance", "1207", "data.hibah_total", "7", "data.hibah_history",
		fmt.Sprintf(`[{"amount":"7","date":"%s","granted_by":"The board","note":"thanks"}]`, today(t, 0)))
	contract.mustAct("close", "closed_by", "teller 7").has("data.status", "closed", "data.balance", "0")
	contract.wantEntries(
		"activate: Dr A:cash:AE 1000, Cr L:wadiah:{this} 1000",
		"deposit: Dr A:cash:AE 500, Cr L:wadiah:{this} 500",
		"withdraw: Dr L:wadiah:{this} 300, Cr A:cash:AE 300",
		"grant_hibah: Dr E:hibah 7, Cr L:wadiah:{this} 7",
		"close: Dr L:wadiah:{this} 1207, Cr A:cash:AE 1207",
	)
	trust := newSafekeeping(t, "trust")
	trust.mustAct("activate")
	trust.act("grant_hibah", "amount", "1", "granted_by", "board").wantRefused("custody_type")
	trust.mustAct("close", "closed_by", "teller 7")
	trust.wantEntries(
		"activate: Dr A:segregated_cash:{this} 1000, Cr L:trust:{this} 1000",
		"close: Dr L:trust:{this} 1000, Cr A:segregated_cash:{this} 1000",
	)
}

package contract

import (
	"slices"
	"strings"
	"testing"

	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// partnershipBody returns the body that opens a diminishing partnership. The institution contributes 800 and the
// customer 200. The customer buys the institution's share in ten units of 80.
func partnershipBody() schema.Input {
	return input("customer_id", someone, "region", `"AE"`, "partnership_type", `"diminishing"`, "total_value", `"1000"`,
		"bank_contribution", `"800"`, "customer_contribution", `"200"`, "profit_sharing_ratio", `{"bank":60,"customer":40}`, "term_months", "10")
}

// activePartnership returns a partnership that began on 2026-01-01.
func activePartnership(t *testing.T, pairs ...string) *contractFixture {
	t.Helper()
	fixture := openContract(t, Partnership, Secular, withChanges(partnershipBody(), pairs...))
	fixture.do(Fund)
	fixture.do(Activate)
	return fixture
}

func TestFieldsOfAPartnershipRequest(t *testing.T) {
	openWithChanges(t, Partnership, Secular, partnershipBody(), []fieldCase{
		{"customer_id", "", "customer_id"},
		{"customer_id", `"5d0d1a526f3e4a439d9e6a4bd8f6c001"`, "customer_id"},
		{"region", "", "region"},
		{"region", `"FR"`, "region"},
		{"region", `"ae"`, "region"},
		{"partnership_type", "", "partnership_type"},
		{"partnership_type", `"permanent"`, ""},
		{"partnership_type", `"silent"`, "partnership_type"},
		{"total_value", "", "total_value"},
		{"total_value", `"999"`, "total_value"},
		{"total_value", `"1001"`, "total_value"},
		{"total_value", `1000`, "total_value"},
		{"bank_contribution", "", "bank_contribution"},
		{"bank_contribution", `"0"`, "bank_contribution"},
		{"bank_contribution", `"801"`, "total_value"},
		{"customer_contribution", "", "customer_contribution"},
		{"customer_contribution", `"-200"`, "customer_contribution"},
		{"customer_contribution", `"199"`, "total_value"},
		{"profit_sharing_ratio", "", "profit_sharing_ratio"},
		{"profit_sharing_ratio", `{"bank":60,"customer":41}`, "profit_sharing_ratio"},
		{"profit_sharing_ratio", `{"bank":-10,"customer":110}`, "profit_sharing_ratio"},
		{"profit_sharing_ratio", `{"bank":60.5,"customer":39.5}`, "profit_sharing_ratio"},
		{"profit_sharing_ratio", `{"bank":100}`, "profit_sharing_ratio"},
		{"profit_sharing_ratio", `[60,40]`, "profit_sharing_ratio"},
		{"profit_sharing_ratio", `{"bank":100,"customer":0}`, ""},
		{"currency", `"EUR"`, ""},
		{"currency", `"AEDX"`, "currency"},
		{"term_months", "", "term_months"}, // a diminishing partnership must have a term
		{"term_months", "0", "term_months"},
		{"term_months", "1", ""},
		{"term_months", "800", ""}, // 800 units of one minor unit
		{"term_months", "801", "bank_contribution"},
		{"term_months", "1201", "term_months"},
		{"term_months", `"10"`, "term_months"},
		{"buyout_schedule", `"quarterly"`, ""},
		{"buyout_schedule", `"semi_annually"`, ""},
		{"buyout_schedule", `"annually"`, ""},
		{"buyout_schedule", `"weekly"`, "buyout_schedule"},
		{"rental_amount", `"30"`, ""},
		{"rental_amount", `"0"`, "rental_amount"},
		{"asset_description", `"a mill"`, ""},
		{"asset_description", `7`, "asset_description"},
		{"metadata", `{"ours":true}`, ""},
		{"metadata", `"ours"`, "metadata"},
	})
	openWithChanges(t, Partnership, Secular, withChanges(partnershipBody(), "partnership_type", `"permanent"`), []fieldCase{{"term_months", "", ""}})
}

func TestAPartnershipsSharesFollowFromContributions(t *testing.T) {
	fixture := openContract(t, Partnership, Secular, withChanges(partnershipBody(), "bank_ownership_percent", "1", "customer_ownership_percent", "99", "units_bought", "9"))
	fixture.wantColumns("bank_ownership_percent", "80", "customer_ownership_percent", "20", "units_total", "10", "buyout_unit_value", "80", "units_bought", "0",
		"buyout_schedule", "monthly", "currency", "AED", "total_profit", "0", "total_loss", "0", "bank_profit_share", "0",
		"customer_profit_share", "0", "rental_paid_total", "0", "start_date", "", "buyout_history", "", "compliance_review", "")
	fixture = openContract(t, Partnership, Secular, withChanges(partnershipBody(), "total_value", `"100000"`, "bank_contribution", `"10"`, "customer_contribution", `"99990"`))
	fixture.wantColumns("customer_ownership_percent", "99", "bank_ownership_percent", "1")
	fixture = openContract(t, Partnership, Secular, withChanges(partnershipBody(), "total_value", `"999"`, "customer_contribution", `"199"`))
	fixture.wantColumns("customer_ownership_percent", "19", "bank_ownership_percent", "81")
	// The end of the term shortens the last period, which has a unit too. A unit's value is rounded down.
	fixture = openContract(t, Partnership, Secular, withChanges(partnershipBody(), "buyout_schedule", `"quarterly"`))
	fixture.wantColumns("units_total", "4", "buyout_unit_value", "200")
	fixture = openContract(t, Partnership, Secular, withChanges(partnershipBody(), "term_months", "3"))
	fixture.wantColumns("units_total", "3", "buyout_unit_value", "266")
	fixture = openContract(t, Partnership, Secular, withChanges(partnershipBody(), "partnership_type", `"permanent"`))
	fixture.wantColumns("units_total", "", "buyout_unit_value", "", "bank_ownership_percent", "80")
}

func TestFundingSetsAPartnershipsDates(t *testing.T) {
	fixture := openContract(t, Partnership, Secular, partnershipBody())
	fixture.do(Fund)
	fixture.wantPostings("Dr A:musharaka:{c} 800", "Cr A:cash:AE 800", "Dr M:venture_assets:{c} 200", "Cr M:partner_capital:{c} 200")
	fixture.wantEffective("2026-01-01")
	fixture.wantColumns("start_date", "2026-01-01", "expected_end_date", "2026-10-28", "next_buyout_date", "2026-01-31")
	fixture = openContract(t, Partnership, Secular, withChanges(partnershipBody(), "partnership_type", `"permanent"`, "term_months", ""))
	fixture.do(Fund)
	fixture.wantColumns("expected_end_date", "2035-11-10", "next_buyout_date", "") // 120 months
	fixture = openContract(t, Partnership, Secular, withChanges(partnershipBody(), "buyout_schedule", `"annually"`))
	fixture.do(Fund)
	fixture.wantColumns("next_buyout_date", "2026-12-27")
}

func TestPartnersShareProfitByTheirRatio(t *testing.T) {
	fixture := activePartnership(t)
	fixture.wantRefused("period_end_date", Profit, "gross_profit", `"1"`, "period_end_date", `"2026-01-02"`) // tomorrow
	fixture.wantRefused("period_end_date", Profit, "gross_profit", `"1"`, "period_end_date", `"2025-12-31"`) // before the funding
	fixture.passDays(59)
	fixture.wantRefused("gross_profit period_end_date", Profit)
	fixture.wantRefused("gross_profit", Profit, "gross_profit", `"-1"`, "period_end_date", `"2026-02-01"`)
	fixture.wantRefused("period_end_date", Profit, "gross_profit", `"1"`, "period_end_date", `"2026-02-30"`)
	fixture.do(Profit, "gross_profit", `"101"`, "period_end_date", `"2026-02-01"`)
	fixture.wantPostings("Dr A:venture_due:{c} 101", "Cr I:musharaka 60", "Cr L:partner_profit:{c} 41",
		"Dr A:cash:AE 60", "Dr L:partner_profit:{c} 41", "Cr A:venture_due:{c} 101")
	fixture.wantEffective("2026-02-01")
	fixture.wantColumns("total_profit", "101", "bank_profit_share", "60", "customer_profit_share", "41", "last_profit_date", "2026-02-01")
	fixture.do(Profit, "gross_profit", `"0"`, "period_end_date", `"2026-03-01"`)
	fixture.wantPostings()
	fixture.wantColumns("total_profit", "101", "last_profit_date", "2026-03-01")
	fixture.do(Profit, "gross_profit", `"0"`, "period_end_date", `"2026-02-15"`) // a late report
	fixture.wantColumns("last_profit_date", "2026-03-01")
	fixture.wantRefused("gross_profit", Profit, "gross_profit", `"1`+strings.Repeat("0", 72)+`"`, "period_end_date", `"2026-02-01"`)
}

func TestPartnersBearALossByWhatTheyOwn(t *testing.T) {
	fixture := activePartnership(t)
	fixture.wantRefused("amount", Loss)
	fixture.wantRefused("amount", Loss, "amount", `"0"`)
	fixture.do(Loss, "amount", `"104"`)
	fixture.wantPostings("Dr E:musharaka_loss 83", "Cr A:musharaka:{c} 83", "Dr M:partner_capital:{c} 21", "Cr M:venture_assets:{c} 21")
	fixture.wantColumns("total_loss", "104", "bank_ownership_percent", "80")
	fixture.wantRows("last_loss", "104 83 21 2026-01-01")
	fixture.do(Buyout, "units", "5") // the customer now owns 60 percent
	fixture.do(Loss, "amount", `"10"`)
	fixture.wantPostings("Dr E:musharaka_loss 4", "Cr A:musharaka:{c} 4", "Dr M:partner_capital:{c} 6", "Cr M:venture_assets:{c} 6")
	fixture.wantRows("last_loss", "10 4 6 2026-01-01")
}

func TestLossIsCappedAtTheCapital(t *testing.T) {
	// The institution has contributed 795 of 1000. It owns 80 percent, because the customer's percentage is rounded
	// down.
	fixture := activePartnership(t, "bank_contribution", `"795"`, "customer_contribution", `"205"`)
	fixture.do(Loss, "amount", `"5000"`)
	fixture.wantPostings("Dr E:musharaka_loss 795", "Cr A:musharaka:{c} 795", "Dr M:partner_capital:{c} 205", "Cr M:venture_assets:{c} 205")
	fixture.wantColumns("total_loss", "1000")
	fixture.wantRows("last_loss", "1000 795 205 2026-01-01")
	fixture.wantRefused("amount", Loss, "amount", `"1"`)
	// Both partners have contributed one minor unit. The institution's half of one unit is rounded down to nothing, so
	// the customer bears the first loss. Then the customer has nothing left, and the institution bears the second.
	fixture = activePartnership(t, "bank_contribution", `"1"`, "customer_contribution", `"1"`, "total_value", `"2"`, "partnership_type", `"permanent"`)
	fixture.do(Loss, "amount", `"1"`)
	fixture.wantPostings("Dr M:partner_capital:{c} 1", "Cr M:venture_assets:{c} 1")
	fixture.do(Loss, "amount", `"1"`)
	fixture.wantPostings("Dr E:musharaka_loss 1", "Cr A:musharaka:{c} 1")
	fixture.wantRows("last_loss", "1 1 0 2026-01-01")
}

func TestABuyoutMovesUnits(t *testing.T) {
	fixture := activePartnership(t)
	fixture.wantRefused("units", Buyout, "units", "0")
	fixture.wantRefused("units", Buyout, "units", "11")
	fixture.wantRefused("units", Buyout, "units", "9223372036854775808")
	fixture.wantRefused("units", Buyout, "units", "1.5")
	fixture.do(Buyout) // one unit, if the request names no number
	fixture.wantPostings("Dr A:cash:AE 80", "Cr A:musharaka:{c} 80", "Dr M:venture_assets:{c} 80", "Cr M:partner_capital:{c} 80")
	fixture.wantColumns("units_bought", "1", "customer_ownership_percent", "28", "bank_ownership_percent", "72", "next_buyout_date", "2026-03-02")
	fixture.do(Buyout, "units", "2")
	fixture.wantRows("buyout_history", "2026-01-01 1 80 28 72", "2026-01-01 2 160 44 56")
	fixture.wantRefused("units", Buyout, "units", "8")
	fixture.do(Buyout, "units", "7")
	fixture.wantPostings("Dr A:cash:AE 560", "Cr A:musharaka:{c} 560", "Dr M:venture_assets:{c} 560", "Cr M:partner_capital:{c} 560",
		"Dr M:partner_capital:{c} 1000", "Cr M:venture_assets:{c} 1000")
	fixture.wantColumns("units_bought", "10", "customer_ownership_percent", "100", "bank_ownership_percent", "0", "next_buyout_date", "")
	if fixture.record.Status != Completed || !fixture.decision.Finish {
		t.Errorf("%s, finished: %v", fixture.record.Status, fixture.decision.Finish)
	}
}

func TestABuyoutBooksTheDifferenceOfPriceAndCarryingAmount(t *testing.T) {
	fixture := activePartnership(t)
	fixture.do(Loss, "amount", `"105"`) // the institution bears 84 of the loss
	fixture.do(Buyout)
	fixture.wantPostings("Dr A:cash:AE 80", "Cr A:musharaka:{c} 71", "Cr I:unit_gain 9", "Dr M:venture_assets:{c} 71", "Cr M:partner_capital:{c} 71")
	// There are three units of 266. The last one takes the whole carrying amount that is left.
	fixture = activePartnership(t, "term_months", "3")
	fixture.do(Buyout)
	fixture.wantPostings("Dr A:cash:AE 266", "Cr A:musharaka:{c} 266", "Dr M:venture_assets:{c} 266", "Cr M:partner_capital:{c} 266")
	fixture.do(Buyout)
	fixture.wantPostings("Dr A:cash:AE 266", "Cr A:musharaka:{c} 267", "Dr E:unit_loss 1", "Dr M:venture_assets:{c} 267", "Cr M:partner_capital:{c} 267")
	fixture.wantColumns("customer_ownership_percent", "73")
	fixture.do(Buyout)
	fixture.wantPostings("Dr A:cash:AE 266", "Cr A:musharaka:{c} 267", "Dr E:unit_loss 1", "Dr M:venture_assets:{c} 267", "Cr M:partner_capital:{c} 267",
		"Dr M:partner_capital:{c} 1000", "Cr M:venture_assets:{c} 1000")
	fixture.wantColumns("customer_ownership_percent", "100")
}

func TestAPermanentPartnershipIsNotBoughtOut(t *testing.T) {
	activePartnership(t, "partnership_type", `"permanent"`).wantRefused("partnership_type", Buyout)
}

func TestRentIsTakenAtEachPeriodsEndAndShrinks(t *testing.T) {
	fixture := activePartnership(t, "rental_amount", `"31"`)
	fixture.passDays(29)
	fixture.wantColumns("rental_paid_total", "0")
	fixture.passDays(1)
	fixture.wantPostings("Dr A:cash:AE 31", "Cr I:musharaka_rent 31")
	fixture.wantEffective("2026-01-31")
	fixture.do(Buyout) // the institution now owns 72 instead of 80 percent
	fixture.passDays(35)
	fixture.wantPostings("Dr A:cash:AE 27", "Cr I:musharaka_rent 27")
	fixture.wantEffective("2026-03-02") // the due day, although the timer runs late
	fixture.wantColumns("rental_paid_total", "58")
	fixture.passDays(55) // the ends of two periods, on days 90 and 120
	fixture.wantColumns("rental_paid_total", "112")
	fixture.do(Buyout, "units", "9")
	fixture.passDays(400)
	fixture.wantColumns("rental_paid_total", "112")
	fixture = activePartnership(t, "rental_amount", `"31"`, "buyout_schedule", `"quarterly"`)
	fixture.passDays(89)
	fixture.wantColumns("rental_paid_total", "0")
	fixture.passDays(1)
	fixture.wantColumns("rental_paid_total", "31")
	if d := activePartnership(t).decision; d.Due != 0 {
		t.Errorf("a partnership without rent has a timer at %v", d.Due)
	}
}

func TestADissolvedPartnershipIsOwedByTheCustomer(t *testing.T) {
	fixture := activePartnership(t)
	fixture.wantRefused("reason", Dissolve)
	fixture.wantRefused("reason", Dissolve, "reason", `" "`)
	fixture.do(Loss, "amount", `"100"`)
	fixture.do(Dissolve, "reason", `"the mill has burnt down"`)
	fixture.wantPostings("Dr A:partner_receivable:{p} 720", "Cr A:musharaka:{c} 720", "Dr M:partner_capital:{c} 180", "Cr M:venture_assets:{c} 180")
	fixture.wantColumns("dissolution_reason", "the mill has burnt down", "next_buyout_date", "")
}

func TestARejectionKeepsItsReason(t *testing.T) {
	fixture := openContract(t, Partnership, Secular, partnershipBody())
	fixture.do(Submit)
	fixture.wantRefused("reason", Reject)
	fixture.do(Reject, "reason", `"too risky"`)
	fixture.wantColumns("rejection_reason", "too risky")
	if c := fixture.column("rejection_reason"); c.Visibility != schema.Metadata {
		t.Errorf("the rejection's reason is shown at place %v", c.Visibility)
	}
}

func TestReviewNamesTheReviewer(t *testing.T) {
	fixture := openContract(t, Partnership, Secular, partnershipBody())
	fixture.do(Submit)
	fixture.wantRefused("approved_by", Approve)
	fixture.wantRefused("approved_by", Approve, "approved_by", `" "`)
	fixture.wantRefused("note", Approve, "approved_by", `"a committee"`, "note", `7`)
	fixture.do(Approve, "approved_by", `"a committee"`, "signed_at", `"2026-01-01"`, "document_ref", `"D-1"`, "note", `"fine"`)
	if got := approvalText(Reviewed.Get(fixture.record.Values)); got != "approved_by=a committee signed_at=2026-01-01 document_ref=D-1 note=fine" {
		t.Errorf("the review is %v", got)
	}
}

func partnershipMoves() map[string]gridMove {
	return map[string]gridMove{
		"submit": {name: Submit}, "reject": {name: Reject, input: input("reason", `"no"`)}, "review": {name: Approve, input: boardReview()},
		"fund": {name: Fund}, "activate": {name: Activate},
		"profit": {name: Profit, input: input("gross_profit", `"1"`, "period_end_date", `"2026-01-01"`)},
		"loss":   {name: Loss, input: input("amount", `"1"`)},
		"buyout": {name: Buyout}, "all units": {name: Buyout, input: input("units", "10")}, "nine units": {name: Buyout, input: input("units", "9")},
		"dissolve": {name: Dissolve, input: input("reason", `"enough"`)}, "rent": {name: Rent},
	}
}

func TestActionsOfAPartnershipInEveryState(t *testing.T) {
	const notRequestable = "422 action" // only a timer takes rent
	checkGrid(t, Partnership, Secular, partnershipBody(), partnershipMoves(), map[Status][]string{
		UnderReview: {"submit"}, ReviewPassed: {"submit", "review"}, Refused: {"submit", "reject"},
		Funded: {"fund"}, Active: {"fund", "activate"}, BuyingOut: {"fund", "activate", "buyout"},
		Completed: {"fund", "activate", "all units"}, Dissolved: {"fund", "activate", "dissolve"},
	}, grid{
		Draft:        {"submit": "under_review", "fund": "funded", "rent": notRequestable},
		UnderReview:  {"review": "review_passed", "reject": "rejected", "rent": notRequestable},
		ReviewPassed: {"fund": "funded", "rent": notRequestable},
		Refused:      {"rent": notRequestable},
		Funded:       {"activate": "active", "rent": notRequestable},
		Active: {
			"profit": "active", "loss": "active", "buyout": "buyout_in_progress", "nine units": "buyout_in_progress", "all units": "completed",
			"dissolve": "dissolved", "rent": notRequestable,
		},
		BuyingOut: {
			"profit": "buyout_in_progress", "loss": "buyout_in_progress", "buyout": "buyout_in_progress", "nine units": "completed",
			"all units": "422 units", "dissolve": "dissolved", "rent": notRequestable,
		},
		Completed: {"rent": notRequestable},
		Dissolved: {"rent": notRequestable},
	})
}

func TestADiminishingPartnershipIsBoughtOut(t *testing.T) {
	org := newOrgFixture(t, "2026-01-10")
	r := org.open(Partnership, Secular, input("customer_id", someone, "region", `"AE"`, "partnership_type", `"diminishing"`,
		"total_value", `"1000"`, "bank_contribution", `"800"`, "customer_contribution", `"200"`,
		"profit_sharing_ratio", `{"bank":60,"customer":40}`, "term_months", "3"))
	r = org.act(r, Fund, nil)
	r = org.act(r, Activate, nil)
	r = org.act(r, Profit, input("gross_profit", `"101"`, "period_end_date", `"2026-01-10"`))
	r = org.act(r, Loss, input("amount", `"100"`))
	for range 3 {
		r = org.act(r, Buyout, nil)
	}
	if r.Status != Completed || pnCustomerPercent.Get(r.Values) != 100 {
		t.Errorf("%s with %d%%", r.Status, pnCustomerPercent.Get(r.Values))
	}
}

// The request that creates a musharaka also reviews, funds and activates it.
func TestAMusharakaIsOpenedWithItsReview(t *testing.T) {
	body := withChanges(partnershipBody(), "compliance_review", `{"approved_by":"the board","fatwa_reference":"F-7"}`)
	openWithChanges(t, Partnership, Religious, body, []fieldCase{
		{"compliance_review", "", "compliance_review"},
		{"compliance_review", `null`, "compliance_review"},
		{"compliance_review", `{"approved_by":"the board"}`, "compliance_review.fatwa_reference"},
		{"compliance_review", `{"fatwa_reference":"F-7"}`, "compliance_review.approved_by"},
		{"total_value", `1000`, ""},
		{"total_value", `1000.0`, "total_value"},
	})
	fixture := openContract(t, Partnership, Religious, body)
	if fixture.record.Status != Active || approvalText(Reviewed.Get(fixture.record.Values)) != "approved_by=the board fatwa_reference=F-7" {
		t.Errorf("the partnership is %s, reviewed by %v", fixture.record.Status, Reviewed.Get(fixture.record.Values))
	}
	var events []string
	for _, e := range fixture.decision.Events {
		events = append(events, e.Name)
	}
	if got := strings.Join(events, " "); got != "create review fund activate" {
		t.Errorf("the decision's events are %s", got)
	}
	fixture.wantPostings("Dr A:musharaka:{c} 800", "Cr A:cash:AE 800", "Dr M:venture_assets:{c} 200", "Cr M:partner_capital:{c} 200")
	fixture.do(Buyout, "units", "10")
	if fixture.record.Status != Completed {
		t.Errorf("the partnership is %s", fixture.record.Status)
	}
}

func TestTheOnlyActionOfAMusharakaIsBuyoutUnit(t *testing.T) {
	checkNames(t, Partnership, Religious, "musharaka", "MSH", map[string]Action{"buyout_unit": "buyout"})
	checkNames(t, Partnership, Secular, "partnerships", "PN", map[string]Action{
		"submit": "submit", "review": "review", "reject": "reject", "fund": "fund", "activate": "activate",
		"profit": "profit", "loss": "loss", "buyout": "buyout", "dissolve": "dissolve",
	})
}

// Lists show a short form of a partnership, which has its identity, contributions and percentages. Only the response about
// one partnership shows profit shares, buyout history and the review.
func TestAPartnershipsShortForm(t *testing.T) {
	var got []string
	for _, c := range Partnership.Columns.Columns {
		if c.Visibility == schema.Short {
			got = append(got, c.Name)
		}
	}
	want := []string{"region", "currency", "customer_id", "partnership_type", "total_value", "bank_contribution", "customer_contribution",
		"bank_ownership_percent", "customer_ownership_percent"}
	if !slices.Equal(got, want) {
		t.Errorf("the short form has %v; want %v", got, want)
	}
}

// checkPartnershipColumns checks that a partnership's columns agree with each other.
func checkPartnershipColumns(fixture *contractFixture) {
	v := fixture.record.Values
	if pnBankPercent.Get(v)+pnCustomerPercent.Get(v) != 100 || pnBankPercent.Get(v) < 0 {
		fixture.t.Fatalf("%d%% and %d%%", pnBankPercent.Get(v), pnCustomerPercent.Get(v))
	}
	if plus(pnBankProfit.Get(v), pnCustomerProfit.Get(v)) != pnProfit.Get(v) {
		fixture.t.Fatalf("%v and %v are not the profit of %v", pnBankProfit.Get(v), pnCustomerProfit.Get(v), pnProfit.Get(v))
	}
	units := int64(0)
	for _, row := range pnBuyouts.Get(v) {
		units += pnBuyoutUnits.Get(row)
	}
	if units != pnUnitsBought.Get(v) || units > pnUnits.Get(v) || (fixture.record.Status == Completed) != (units > 0 && units == pnUnits.Get(v)) {
		fixture.t.Fatalf("%d units are in the history and %d of %d bought; it is %s", units, pnUnitsBought.Get(v), pnUnits.Get(v), fixture.record.Status)
	}
	if fixture.record.Status != Active && fixture.record.Status != BuyingOut {
		return
	}
	if remaining := plus(pnBankBalance.Get(v), pnCustomerBalance.Get(v)); plus(remaining, pnLoss.Get(v)) != pnTotalCapital.Get(v) {
		fixture.t.Fatalf("%v are left and %v lost of %v", remaining, pnLoss.Get(v), pnTotalCapital.Get(v))
	}
}

func TestEveryLifeOfAPartnershipBalances(t *testing.T) {
	for _, reading := range Readings {
		t.Run(reading.Name, func(t *testing.T) {
			lives := randomLives{product: Partnership, reading: reading, checkColumns: checkPartnershipColumns, endStates: []Status{Completed, Dissolved}, rareActions: []Action{Submit, Reject, Dissolve}}
			if reading.ReviewFirst {
				lives.impossibleTransitions = []Action{Submit, Reject}
			}
			lives.body = func(d *dice) schema.Input {
				bank, customer := d.number(1, 5000), d.number(1, 5000)
				body := withChanges(partnershipBody(), "bank_contribution", quote(bank), "customer_contribution", quote(customer), "total_value", quote(bank+customer),
					"partnership_type", d.quotedWord("diminishing", "diminishing", "permanent"), "term_months", d.numberText(1, 40), "profit_sharing_ratio", d.ratio(),
					"compliance_review", `{"approved_by":"the board","fatwa_reference":"F-7"}`)
				d.setSometimes(body, "rental_amount", quote(d.number(1, 200)))
				d.setSometimes(body, "buyout_schedule", d.quotedWord(frequencies...))
				return body
			}
			lives.bodies = map[Action]func(*dice, schema.Row) schema.Input{
				Reject: reasonBody, Dissolve: reasonBody, Loss: amountsOf("amount", pnTotalCapital.Get),
				Profit: func(d *dice, v schema.Row) schema.Input {
					return input("gross_profit", d.amountText(money.FromUint64(500)), "period_end_date", d.periodEndFrom(pnStart.Get(v)))
				},
				Buyout: func(d *dice, _ schema.Row) schema.Input {
					body := schema.Input{}
					d.setSometimes(body, "units", d.numberText(0, 12))
					return body
				},
			}
			lives.check(t)
		})
	}
}

func quote(n int) string { return `"` + amountOf(int64(n)).String() + `"` }

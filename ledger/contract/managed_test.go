package contract

import (
	"bytes"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// managedBody is the body that opens a managed investment.
var managedBody = input("customer_id", someone, "region", `"AE"`, "currency", `"AED"`, "capital_amount", `"1000"`,
	"business_type", `"trade"`, "profit_sharing_ratio", `{"bank":60,"customer":40}`, "term_months", "12")

func TestManagedInvestmentFieldsHaveTheirBounds(t *testing.T) {
	checkBounds(t, Managed, managedBody, []fieldBounds{
		{"customer_id", []string{someone}, notUUIDs, true},
		{"region", []string{`"AE"`, `"GB"`, `"MY"`}, notRegions, true},
		{"currency", []string{`"AED"`, `"USD"`, `"EUR"`}, []string{`"CHF"`, `"usd"`, `"USDT"`, `5`}, true},
		{"capital_amount", []string{`"1"`, largest}, notAmounts, true},
		{"business_type", []string{`"x"`}, notTexts, true},
		{"profit_sharing_ratio", ratios, notRatios, true},
		{"term_months", []string{"1", "120"}, []string{"0", "121", "-1", "1.5", `"12"`, hugeInteger}, true},
		{"mandate_type", []string{`"restricted"`, `"unrestricted"`}, []string{`"free"`, `"Restricted"`, `""`, `1`}, false},
		{"business_restrictions", []string{`["no tobacco"]`, `[]`}, []string{`"none"`, `[1]`, `[""]`, `{}`}, false},
		{"business_description", []string{`"imports"`}, []string{`" "`, `7`, `"` + strings.Repeat("x", 2001) + `"`}, false},
		{"reporting_frequency", []string{`"monthly"`, `"quarterly"`, `"semi_annually"`, `"annually"`}, []string{`"weekly"`, `"at_maturity"`, `1`}, false},
		{"metadata", []string{`{"a":{"b":1}}`, `{}`}, []string{`[]`, `"x"`}, false},
	})
}

func TestManagedInvestmentDefaults(t *testing.T) {
	r, _ := openRefused(Managed, Secular, managedBody)
	if got := miMandateType.Get(r.Values); got != "restricted" || r.Status != Draft {
		t.Errorf("%s, %s", got, r.Status)
	}
}

func TestDerivedManagedInvestmentFieldsCannotBeSet(t *testing.T) {
	r, fields := openRefused(Managed, Secular, withChanges(managedBody, "current_value", `"5"`, "actual_end_date", `"2026-01-01"`, "total_loss", `"5"`))
	if fields != nil || !miValue.Get(r.Values).IsZero() || miEndDate.Has(r.Values) || !miTotalLoss.Get(r.Values).IsZero() {
		t.Errorf("%q, %v", fields, r.Values)
	}
}

func TestStatesOfManagedInvestments(t *testing.T) {
	bodies := map[string]schema.Input{
		"review":   input("approved_by", `"Amina"`),
		"reject":   input("reason", `"no"`),
		"profit":   input("gross_profit", `"10"`, "period_end_date", `"2026-01-10"`),
		"loss":     input("amount", `"10"`),
		"loss:all": input("amount", `"1000"`),
		"complete": input("final_value", `"900"`),
	}
	sc := &scenario{product: Managed, reading: Secular, openingBody: managedBody, bodies: bodies,
		grid: map[Status]gridRow{
			"draft":         {"submit": "under_review", "fund": "funded"},
			"under_review":  {"review": "review_passed", "reject": "rejected"},
			"review_passed": {"fund": "funded"},
			"rejected":      {},
			"funded":        {"activate": "active", "complete": "completed"},
			"active":        {"profit": "active", "loss": "active", "loss:all": "liquidated", "complete": "completed"},
			"completed":     {},
			"liquidated":    {},
		},
		paths: map[Status]string{
			"under_review": "submit", "review_passed": "submit review", "rejected": "submit reject", "funded": "fund",
			"active": "fund activate", "completed": "fund complete", "liquidated": "fund activate loss:all",
		}}
	sc.check(t)
}

func TestStatesOfMudaraba(t *testing.T) {
	bodies := map[string]schema.Input{
		"approve":           input("approved_by", `"board"`, "fatwa_reference", `"F-1"`),
		"reject":            input("reason", `"no"`),
		"distribute_profit": input("gross_profit", `10`, "period_end_date", `"2026-01-10"`),
		"record_loss":       input("amount", `10`),
		"record_loss:all":   input("amount", `"1000"`),
		"complete":          input("final_value", `900`),
	}
	sc := &scenario{product: Managed, reading: Religious, openingBody: withChanges(managedBody, "capital_amount", `1000`), bodies: bodies,
		grid: map[Status]gridRow{
			"draft":         {"approve": "review_passed", "reject": "rejected"},
			"under_review":  {"approve": "review_passed", "reject": "rejected"},
			"review_passed": {"fund": "funded"},
			"rejected":      {},
			"funded":        {"activate": "active", "complete": "completed"},
			"active":        {"distribute_profit": "active", "record_loss": "active", "record_loss:all": "liquidated", "complete": "completed"},
			"completed":     {},
			"liquidated":    {},
		},
		paths: map[Status]string{
			"under_review": "submit", "review_passed": "approve", "rejected": "reject", "funded": "approve fund",
			"active": "approve fund activate", "completed": "approve fund complete", "liquidated": "approve fund activate record_loss:all",
		}}
	sc.check(t)
}

func TestMudarabaHasExactlyItsActions(t *testing.T) {
	for _, name := range []string{"approve", "reject", "fund", "activate", "distribute_profit", "record_loss", "complete"} {
		if _, ok := Managed.Action(Religious, name); !ok {
			t.Errorf("%s is missing", name)
		}
	}
	for _, name := range []string{"submit", "review", "profit", "loss", "liquidate", "buyout_unit", ""} {
		if _, ok := Managed.Action(Religious, name); ok {
			t.Errorf("%s is an action of mudaraba", name)
		}
	}
}

func TestLiquidationCannotBeRequested(t *testing.T) {
	org, r := activeInvestment(t, managedBody)
	org.wantRefused(r, "liquidate", nil, "action")
	org.wantRefused(r, "buyout", nil, "action")
}

// activeInvestment opens a managed investment and takes it to Active, the state in which results are reported.
func activeInvestment(t rapid.TB, request schema.Input) (*orgFixture, *Record) {
	org := newOrgFixture(t, "2026-01-10")
	r := org.act(org.open(Managed, Secular, request), Fund, nil)
	return org, org.act(r, Activate, nil)
}

func TestFundingHandsTheCapitalToTheManager(t *testing.T) {
	org := newOrgFixture(t, "2026-01-10")
	r := org.open(Managed, Secular, managedBody)
	r = org.wantEntries(r, Fund, nil, "2026-01-10", "Dr A:mudaraba:{c} 1000", "Cr A:cash:AE 1000")
	v := r.Values
	if miStart.Get(v).String() != "2026-01-10" || miExpectedEnd.Get(v).String() != "2027-01-05" || miValue.Get(v) != money.FromUint64(1000) {
		t.Errorf("from %v to %v, worth %v", miStart.Get(v), miExpectedEnd.Get(v), miValue.Get(v))
	}
	org.wantEntries(r, Activate, nil)
}

func TestManagedProfitIsSplitByTheRatioAndTheValueGrowsByTheBanksShare(t *testing.T) {
	org, r := activeInvestment(t, managedBody)
	org.passDays(30)
	r = org.wantEntries(r, Profit, input("gross_profit", `"101"`, "period_end_date", `"2026-02-01"`),
		"2026-02-01", "Dr A:mudaraba:{c} 60", "Dr A:venture_due:{c} 41", "Cr I:mudaraba 60", "Cr L:manager_profit:{c} 41",
		"Dr L:manager_profit:{c} 41", "Cr A:venture_due:{c} 41")
	v, row := r.Values, miDistributions.Get(r.Values)[0]
	if miValue.Get(v) != money.FromUint64(1060) || miBankProfit.Get(v) != money.FromUint64(60) || miCustomerProfit.Get(v) != money.FromUint64(41) {
		t.Errorf("value %v, shares %v and %v", miValue.Get(v), miBankProfit.Get(v), miCustomerProfit.Get(v))
	}
	if miDistributionDate.Get(row).String() != "2026-02-01" || miGrossProfit.Get(row) != money.FromUint64(101) ||
		miBankShare.Get(row) != money.FromUint64(60) || miCustomerShare.Get(row) != money.FromUint64(41) {
		t.Errorf("distribution %v", row)
	}
}

func TestProfitShareOfZeroForManagerOrBank(t *testing.T) {
	org, r := activeInvestment(t, withChanges(managedBody, "profit_sharing_ratio", `{"bank":100,"customer":0}`))
	org.passDays(30)
	profit := input("gross_profit", `"7"`, "period_end_date", `"2026-02-01"`)
	org.wantEntries(r, Profit, profit, "2026-02-01", "Dr A:mudaraba:{c} 7", "Cr I:mudaraba 7")
	org, r = activeInvestment(t, withChanges(managedBody, "profit_sharing_ratio", `{"bank":0,"customer":100}`))
	org.passDays(30)
	org.wantEntries(r, Profit, profit, "2026-02-01", "Dr A:venture_due:{c} 7", "Cr L:manager_profit:{c} 7", "Dr L:manager_profit:{c} 7", "Cr A:venture_due:{c} 7")
}

func TestManagedProfitOfZeroMovesTheReportingDateAndNoMoney(t *testing.T) {
	org, r := activeInvestment(t, withChanges(managedBody, "reporting_frequency", `"quarterly"`))
	if got := miNextReport.Get(r.Values).String(); got != "2026-04-10" {
		t.Errorf("first report on %s", got)
	}
	org.passDays(100) // 2026-04-20
	r = org.wantEntries(r, Profit, input("gross_profit", `"0"`, "period_end_date", `"2026-04-10"`))
	v := r.Values
	if miLastReport.Get(v).String() != "2026-04-10" || miNextReport.Get(v).String() != "2026-07-09" || len(miDistributions.Get(v)) != 1 {
		t.Errorf("reported %v, next %v", miLastReport.Get(v), miNextReport.Get(v))
	}
	r = org.act(r, Loss, input("amount", `"1"`, "period_end_date", `"2026-03-01"`))
	if v = r.Values; miLastReport.Get(v).String() != "2026-04-10" || miNextReport.Get(v).String() != "2026-10-07" {
		t.Errorf("a late report: reported %v, next %v", miLastReport.Get(v), miNextReport.Get(v))
	}
}

func TestTheReportingDateStaysInTheCalendar(t *testing.T) {
	org, r := activeInvestment(t, withChanges(managedBody, "reporting_frequency", `"annually"`))
	r = r.next()
	lastDay, _ := schema.ParseDate("9000-12-31")
	miNextReport.Set(r.Values, lastDay)
	r = org.act(r, Profit, input("gross_profit", `"0"`, "period_end_date", `"2026-01-10"`))
	if got := miNextReport.Get(r.Values); got != lastDay {
		t.Errorf("next report on %v", got)
	}
}

func TestLossReducesOnlyTheCapital(t *testing.T) {
	org, r := activeInvestment(t, managedBody)
	org.passDays(30)
	r = org.wantEntries(r, Loss, input("amount", `"300"`, "period_end_date", `"2026-02-01"`),
		"2026-02-01", "Dr E:mudaraba_loss 300", "Cr A:mudaraba:{c} 300")
	r = org.wantEntries(r, Loss, input("amount", `"1"`), "2026-02-09", "Dr E:mudaraba_loss 1", "Cr A:mudaraba:{c} 1")
	v, rows := r.Values, miLosses.Get(r.Values)
	if r.Status != Active || miValue.Get(v) != money.FromUint64(699) || miTotalLoss.Get(v) != money.FromUint64(301) || len(rows) != 2 {
		t.Fatalf("%s, worth %v, lost %v", r.Status, miValue.Get(v), miTotalLoss.Get(v))
	}
	if miLossDate.Get(rows[0]).String() != "2026-02-01" || miLossDate.Get(rows[1]).String() != "2026-02-09" || miLossAmount.Get(rows[0]) != money.FromUint64(300) || miLossNewValue.Get(rows[0]) != money.FromUint64(700) {
		t.Errorf("first loss %v", rows[0])
	}
}

func TestALossIsCappedAtTheValueAndLiquidates(t *testing.T) {
	org, r := activeInvestment(t, withChanges(managedBody, "reporting_frequency", `"monthly"`))
	org.passDays(5)
	d, err := r.Act(Loss, input("amount", largest), org.now)
	if err != nil {
		t.Fatal(err)
	}
	org.book(&d)
	org.checkColumns(d.Record)
	if got := formatEntries(d); got != "2026-01-15, Dr E:mudaraba_loss 1000, Cr A:mudaraba:{c} 1000" {
		t.Error(got)
	}
	r = d.Record
	v := r.Values
	if r.Status != Liquidated || !d.Finish || d.Events[0].Name != "loss" || !miValue.Get(v).IsZero() ||
		miEndDate.Get(v).String() != "2026-01-15" || miNextReport.Has(v) || miLossAmount.Get(miLosses.Get(v)[0]) != money.FromUint64(1000) {
		t.Errorf("%s on %v, worth %v", r.Status, miEndDate.Get(v), miValue.Get(v))
	}
}

func TestManagedActionsNeedTheirBodies(t *testing.T) {
	org, r := activeInvestment(t, managedBody)
	valid := input("gross_profit", `"10"`, "period_end_date", `"2026-01-10"`)
	for _, wrong := range []string{"", "null", `"-1"`, `5`, `"1.5"`, `"x"`} {
		org.wantRefused(r, Profit, withChanges(valid, "gross_profit", wrong), "gross_profit")
	}
	for _, wrong := range append(notDates, "", "null") {
		org.wantRefused(r, Profit, withChanges(valid, "period_end_date", wrong), "period_end_date")
	}
	org.wantRefused(r, Profit, nil, "gross_profit", "period_end_date")
	for _, wrong := range append(notAmounts, "", "null") {
		org.wantRefused(r, Loss, withChanges(input("amount", `"1"`), "amount", wrong), "amount")
	}
	for _, wrong := range notDates {
		org.wantRefused(r, Loss, input("amount", `"1"`, "period_end_date", wrong), "period_end_date")
	}
	for _, wrong := range []string{"", "null", `"-1"`, `900`} {
		org.wantRefused(r, Complete, withChanges(input("final_value", `"1"`), "final_value", wrong), "final_value")
	}
	org.wantConflict(r, Fund, nil)
}

func TestAReviewOfAManagedInvestmentNamesWhoApproved(t *testing.T) {
	org := newOrgFixture(t, "2026-01-10")
	r := org.act(org.open(Managed, Secular, managedBody), Submit, nil)
	org.wantRefused(r, Approve, nil, "approved_by")
	org.wantRefused(r, Approve, input("approved_by", `" "`), "approved_by")
	org.wantRefused(r, Reject, nil, "reason")
	org.wantRefused(r, Reject, input("reason", `""`), "reason")
	passed := org.wantEntries(r, Approve, input("approved_by", `"Amina"`, "note", `"fine"`))
	if a := approvalText(Reviewed.Get(passed.Values)); a != "approved_by=Amina note=fine" {
		t.Errorf("%+v", a)
	}
	if refused := org.wantEntries(r, Reject, input("reason", `"too risky"`)); RejectionReason.Get(refused.Values) != "too risky" {
		t.Errorf("refused for %q", RejectionReason.Get(refused.Values))
	}
}

func TestMudarabaIsApprovedWithAReference(t *testing.T) {
	org := newOrgFixture(t, "2026-01-10")
	r := org.open(Managed, Religious, managedBody)
	org.wantConflict(r, Fund, nil)
	org.wantRefused(r, Approve, input("approved_by", `"board"`), "fatwa_reference")
	org.wantRefused(r, Approve, input("fatwa_reference", `"F-1"`), "approved_by")
	org.wantRefused(r, Approve, input("approved_by", `"board"`, "fatwa_reference", `"  "`), "fatwa_reference")
	r = org.act(r, Approve, input("approved_by", `"board"`, "fatwa_reference", `"F-1"`))
	org.wantConflict(r, Approve, input("approved_by", `"board"`, "fatwa_reference", `"F-1"`))
	org.wantEntries(r, Fund, nil, "2026-01-10", "Dr A:mudaraba:{c} 1000", "Cr A:cash:AE 1000")
}

func TestCompletionReturnsCapitalAndProfitLessLosses(t *testing.T) {
	org, r := activeInvestment(t, withChanges(managedBody, "reporting_frequency", `"monthly"`))
	r = org.act(r, Profit, input("gross_profit", `"101"`, "period_end_date", `"2026-01-10"`))
	r = org.act(r, Loss, input("amount", `"300"`))
	for finalValue, variance := range map[string]string{"800": "40", "700": "-60", "760": "0", "0": "-760"} {
		org := *org
		org.debit, org.credit = maps.Clone(org.debit), maps.Clone(org.credit)
		r := org.wantEntries(r, Complete, input("final_value", strconv.Quote(finalValue)), "Dr A:cash:AE 760", "Cr A:mudaraba:{c} 760")
		v, settlement := r.Values, miSettlement.Get(r.Values)[0]
		if miReturnedToBank.Get(settlement) != money.FromUint64(760) || miSettledProfit.Get(settlement) != money.FromUint64(60) || miSettledLoss.Get(settlement) != money.FromUint64(300) {
			t.Errorf("settled with %v", settlement)
		}
		if got := miVariance.Get(settlement).String(); got != variance {
			t.Errorf("a final value of %s leaves %s, want %s", finalValue, got, variance)
		}
		if r.Status != Completed || miValue.Get(v).String() != finalValue || miEndDate.Get(v).String() != "2026-01-10" || miNextReport.Has(v) {
			t.Errorf("%s on %v, worth %v", r.Status, miEndDate.Get(v), miValue.Get(v))
		}
	}
}

func TestAProfitAboveTheLargestAmountIsRefused(t *testing.T) {
	org, r := activeInvestment(t, withChanges(managedBody, "capital_amount", largest))
	org.passDays(30)
	org.wantRefused(r, Profit, input("gross_profit", `"2"`, "period_end_date", `"2026-02-01"`), "gross_profit")
	org.wantEntries(r, Profit, input("gross_profit", `"1"`, "period_end_date", `"2026-02-01"`), "2026-02-01", "Dr A:venture_due:{c} 1",
		"Cr L:manager_profit:{c} 1", "Dr L:manager_profit:{c} 1", "Cr A:venture_due:{c} 1")
}

func TestNumberOfReportsOfAManagedInvestmentIsBounded(t *testing.T) {
	org, r := activeInvestment(t, managedBody)
	fullRecord := r.next()
	miDistributions.Set(fullRecord.Values, make([]schema.Row, maxRows-1))
	miLosses.Set(fullRecord.Values, make([]schema.Row, maxRows-1))
	for i := range miDistributions.Stored(fullRecord.Values).([]schema.Row) {
		miDistributions.Get(fullRecord.Values)[i], miLosses.Get(fullRecord.Values)[i] = miDistributionTable.New(), miLossTable.New()
	}
	profit, loss := input("gross_profit", `"0"`, "period_end_date", `"2026-01-10"`), input("amount", `"1"`)
	fullRecord = org.act(org.act(fullRecord, Profit, profit), Loss, loss)
	org.wantRefused(fullRecord, Profit, profit, "gross_profit")
	org.wantRefused(fullRecord, Loss, loss, "amount")
	org.act(fullRecord, Complete, input("final_value", `"1"`))
}

func TestTheLargestManagedInvestmentFitsIntoARecord(t *testing.T) {
	longestText := `"` + strings.Repeat("𐍈", schema.MaxText) + `"`
	request := withChanges(managedBody, "capital_amount", largest, "metadata", `{"a":"`+strings.Repeat("x", schema.MaxObject-10)+`"}`,
		"business_restrictions", `[`+strings.Repeat(longestText+",", schema.MaxList-1)+longestText+`]`, "business_description", `"`+strings.Repeat("𐍈", maxNote)+`"`)
	org, r := activeInvestment(t, request)
	r = org.act(r, Profit, input("gross_profit", `"1"`, "period_end_date", `"2026-01-10"`)).next()
	row, loss := miDistributionTable.New(), miLossTable.New()
	for _, column := range []schema.TypedColumn[money.Amount]{miGrossProfit, miBankShare, miCustomerShare} {
		column.Set(row, ledger.MaxAmount)
	}
	miDistributionDate.Set(row, miLastReport.Get(r.Values))
	miLossAmount.Set(loss, ledger.MaxAmount)
	miLossNewValue.Set(loss, ledger.MaxAmount)
	miLossDate.Set(loss, miLastReport.Get(r.Values))
	miDistributions.Set(r.Values, slices.Repeat([]schema.Row{row}, maxRows))
	miLosses.Set(r.Values, slices.Repeat([]schema.Row{loss}, maxRows))
	if n := len(AppendRecord(nil, r)); n > 1<<20 {
		t.Errorf("%d bytes", n)
	}
}

// naiveInvestment implements managed investments a second time, in a simpler way. The results must be the same.
type naiveInvestment struct {
	status                                       Status
	capital                                      *big.Int
	value, bankProfit, customerProfit, totalLoss *big.Int
	bankPercent                                  int64
	religious                                    bool
	distributions, lossReports                   int
}

// next returns the state to which an action leads according to the specification's table; "" if the state does not allow the
// action.
func (naive *naiveInvestment) next(name Action) Status {
	switch string(naive.status) + " " + string(name) {
	case "draft submit":
		return UnderReview
	case "draft review", "draft reject":
		if naive.religious {
			return map[Action]Status{Approve: ReviewPassed, Reject: Refused}[name]
		}
	case "under_review review":
		return ReviewPassed
	case "under_review reject":
		return Refused
	case "draft fund":
		if !naive.religious {
			return Funded
		}
	case "review_passed fund":
		return Funded
	case "funded activate", "active profit", "active loss":
		return Active
	case "funded complete", "active complete":
		return Completed
	}
	return ""
}

// Random actions are tried in both readings (the secular and the religious form). The entries of an accepted action
// balance, and the columns agree with the accounts. A refused action changes nothing, and the accounts of an ended
// contract are empty.
func TestRandomLivesOfManagedInvestments(t *testing.T) {
	useSeed(t)
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			checkRandomLife(t)
		}
	})
}

func checkRandomLife(t *rapid.T) {
	org := newOrgFixture(t, "2026-01-10")
	naive := &naiveInvestment{status: Draft, capital: drawSum(t, "capital"), value: new(big.Int), bankProfit: new(big.Int), customerProfit: new(big.Int), totalLoss: new(big.Int)}
	naive.bankPercent = rapid.Int64Range(0, 100).Draw(t, "bank")
	naive.religious = rapid.Bool().Draw(t, "religious")
	reading := Secular
	if naive.religious {
		reading = Religious
	}
	customer := strconv.FormatInt(100-naive.bankPercent, 10)
	r := org.open(Managed, reading, withChanges(managedBody, "capital_amount", quoteBig(naive.capital),
		"profit_sharing_ratio", `{"bank":`+strconv.FormatInt(naive.bankPercent, 10)+`,"customer":`+customer+`}`))
	for range rapid.IntRange(1, 14).Draw(t, "steps") {
		org.passDays(rapid.IntRange(0, 40).Draw(t, "days"))
		r = naive.step(t, org, r)
	}
}

// step tries a random action on a contract, repeats the action on the naive investment, and compares the results.
func (naive *naiveInvestment) step(t *rapid.T, org *orgFixture, r *Record) *Record {
	name := rapid.SampledFrom([]Action{Submit, Approve, Reject, Fund, Fund, Activate, Activate, Profit, Profit, Profit, Loss, Loss, Complete}).Draw(t, "action")
	sum := drawSum(t, "sum")
	request := input("approved_by", `"board"`, "fatwa_reference", `"F-1"`, "reason", `"no"`, "final_value", quoteBig(sum),
		"gross_profit", quoteBig(sum), "amount", quoteBig(sum), "period_end_date", `"`+org.now.Date().String()+`"`)
	nextStatus := naive.next(name)
	bankShare := percentOf(sum, naive.bankPercent)
	customerShare := new(big.Int).Sub(sum, bankShare)
	if name == Profit && nextStatus != "" {
		for _, total := range [][2]*big.Int{{naive.value, bankShare}, {naive.bankProfit, bankShare}, {naive.customerProfit, customerShare}} {
			if new(big.Int).Add(total[0], total[1]).Cmp(largestSum) > 0 {
				org.wantRefused(r, name, request, "gross_profit")
				return r
			}
		}
	}
	before := AppendRecord(nil, r)
	if nextStatus == "" {
		org.wantConflict(r, name, request)
		return r
	}
	next := org.act(r, name, request)
	if !bytes.Equal(before, AppendRecord(nil, r)) {
		t.Fatalf("%s has changed the record before the decision", name)
	}
	switch naive.status = nextStatus; name {
	case Fund:
		naive.value.Set(naive.capital)
	case Profit:
		naive.value.Add(naive.value, bankShare)
		naive.bankProfit.Add(naive.bankProfit, bankShare)
		naive.customerProfit.Add(naive.customerProfit, customerShare)
		naive.distributions++
	case Loss:
		naive.lossReports++
		if sum.Cmp(naive.value) >= 0 {
			sum, naive.status = new(big.Int).Set(naive.value), Liquidated
		}
		naive.value.Sub(naive.value, sum)
		naive.totalLoss.Add(naive.totalLoss, sum)
	case Complete:
		returned := new(big.Int).Add(naive.capital, naive.bankProfit)
		returned.Sub(returned, naive.totalLoss)
		if got := miReturnedToBank.Get(miSettlement.Get(next.Values)[0]).String(); got != returned.String() {
			t.Fatalf("%s is returned of %v + %v − %v", got, naive.capital, naive.bankProfit, naive.totalLoss)
		}
		naive.value = sum
	}
	naive.compare(t, org, next)
	return next
}

func (naive *naiveInvestment) compare(t *rapid.T, org *orgFixture, r *Record) {
	if r.Status != naive.status {
		t.Fatalf("the contract is %s, want %s", r.Status, naive.status)
	}
	wantSum(t, r, miValue, naive.value)
	wantSum(t, r, miBankProfit, naive.bankProfit)
	wantSum(t, r, miCustomerProfit, naive.customerProfit)
	wantSum(t, r, miTotalLoss, naive.totalLoss)
	if len(miDistributions.Get(r.Values)) != naive.distributions || len(miLosses.Get(r.Values)) != naive.lossReports {
		t.Fatalf("%d distributions and %d losses", naive.distributions, naive.lossReports)
	}
	if naive.status == Completed || naive.status == Liquidated {
		for _, stem := range []string{"A:mudaraba", "A:venture_due", "L:manager_profit"} {
			if held := org.balance(r.account(stem)); !held.IsZero() {
				t.Fatalf("%s of a contract that is %s holds %v", stem, naive.status, held)
			}
		}
	}
}

package contract

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// depositBody is a request for a deposit.
var depositBody = input("customer_id", someone, "region", `"AE"`, "currency", `"AED"`, "initial_amount", `"1000"`,
	"term_months", "3", "profit_sharing_ratio", `{"bank":40,"customer":60}`)

func TestDepositFieldsHaveTheirBounds(t *testing.T) {
	checkBounds(t, Deposit, depositBody, []fieldBounds{
		{"customer_id", []string{someone}, notUUIDs, true},
		{"region", []string{`"AE"`, `"RU"`}, notRegions, true},
		{"currency", []string{`"AED"`, `"USD"`}, []string{`"CHF"`, `"usd"`, `5`}, true},
		{"initial_amount", []string{`"1"`, largest}, notAmounts, true},
		{"term_months", []string{"1", "120"}, []string{"0", "121", "-1", "1.5", `"12"`, hugeInteger}, true},
		{"profit_sharing_ratio", ratios, notRatios, true},
		{"investment_type", []string{`"general"`, `"restricted"`}, []string{`"special"`, `""`, `1`}, false},
		{"investment_restrictions", []string{`["leases only"]`, `[]`}, []string{`"none"`, `[1]`, `{}`}, false},
		{"distribution_frequency", []string{`"monthly"`, `"quarterly"`, `"semi_annually"`, `"at_maturity"`}, []string{`"annually"`, `"weekly"`, `1`}, false},
		{"indicative_rate", []string{"0", "5", "100"}, []string{"-1", "4.5", `"5"`, hugeInteger}, false},
		{"early_withdrawal_allowed", []string{"true", "false"}, notBools, false},
		{"early_withdrawal_penalty_percent", []string{"0", "100"}, []string{"-1", "101", "0.5", `"5"`, hugeInteger}, false},
		{"auto_renewal", []string{"true", "false"}, notBools, false},
		{"account_id", []string{`"AE07 0331"`, someone}, notTexts[1:], false},
		{"product_id", []string{someone}, notUUIDs, false},
		{"opened_by", []string{`"Amina"`}, notTexts[1:], false},
		{"metadata", []string{`{"a":1}`}, []string{`[]`, `"x"`}, false},
	})
}

func TestDepositDefaults(t *testing.T) {
	r, _ := openRefused(Deposit, Secular, depositBody)
	v := r.Values
	if r.Status != Pending || dpKind.Get(v) != "general" || dpEarlyAllowed.Get(v) || dpAutoRenewal.Get(v) || dpFrequency.Has(v) {
		t.Errorf("%s, %v", r.Status, v)
	}
}

func TestDerivedDepositFieldsCannotBeSet(t *testing.T) {
	r, fields := openRefused(Deposit, Secular, withChanges(depositBody, "current_value", `"5"`, "maturity_date", `"2026-01-01"`, "closed_by", `"x"`, "rate", "9"))
	if fields != nil || !dpValue.Get(r.Values).IsZero() || dpMaturity.Has(r.Values) || dpClosedBy.Has(r.Values) {
		t.Errorf("%q, %v", fields, r.Values)
	}
}

func TestDepositsHaveNoReligiousVariant(t *testing.T) {
	if Deposit.Variants[Religious] != nil || Deposit.Machine(Religious) != nil {
		t.Error("the deposit has a religious variant")
	}
}

func TestStatesOfDeposits(t *testing.T) {
	sc := &scenario{product: Deposit, reading: Secular, openingBody: withChanges(depositBody, "early_withdrawal_allowed", "true"), afterAYear: "mature",
		bodies: map[string]schema.Input{
			"profit": input("gross_profit", `"10"`), "loss": input("amount", `"10"`), "loss:all": input("amount", largest),
			"withdraw": input("closed_by", `"Amina"`), "close": input("closed_by", `"Amina"`),
		},
		grid: map[Status]gridRow{
			"pending":   {"activate": "active"},
			"active":    {"profit": "active", "loss": "active", "loss:all": "active", "mature": "matured", "withdraw": "withdrawn"},
			"matured":   {"renew": "active", "close": "closed"},
			"withdrawn": {"close": "closed"},
			"closed":    {},
		},
		paths: map[Status]string{
			"active": "activate", "matured": "activate mature", "withdrawn": "activate withdraw", "closed": "activate mature close",
		}}
	sc.check(t)
	sc.paths["closed"], sc.paths["active"] = "activate withdraw close", "activate mature renew"
	sc.check(t)
}

func TestDepositsHaveNoReview(t *testing.T) {
	org := newOrgFixture(t, "2026-01-10")
	r := org.open(Deposit, Secular, depositBody)
	for _, name := range []Action{Submit, Approve, Reject, Fund} {
		org.wantRefused(r, name, nil, "action")
	}
}

// runningDeposit opens a deposit and activates it.
func runningDeposit(t rapid.TB, request schema.Input) (*orgFixture, *Record) {
	org := newOrgFixture(t, "2026-01-10")
	return org, org.act(org.open(Deposit, Secular, request), Activate, nil)
}

func TestActivationPutsTheMoneyIntoThePool(t *testing.T) {
	org := newOrgFixture(t, "2026-01-10")
	r := org.open(Deposit, Secular, withChanges(depositBody, "distribution_frequency", `"monthly"`))
	r = org.wantEntries(r, Activate, nil, "2026-01-10", "Dr A:cash:AE 1000", "Cr Q:capital:{c} 1000", "Dr A:pool 1000", "Cr A:cash:AE 1000")
	v := r.Values
	if dpOpenedOn.Get(v).String() != "2026-01-10" || dpMaturity.Get(v).String() != "2026-04-10" || dpNextDistribution.Get(v).String() != "2026-02-09" ||
		dpValue.Get(v) != money.FromUint64(1000) || Reviewed.Has(v) {
		t.Errorf("from %v to %v, first %v, worth %v", dpOpenedOn.Get(v), dpMaturity.Get(v), dpNextDistribution.Get(v), dpValue.Get(v))
	}
}

func TestFirstDistributionIsAfterOnePeriodOrAtMaturity(t *testing.T) {
	for frequency, want := range map[string]string{
		`"monthly"`: "2026-02-09", `"quarterly"`: "2026-04-10", `"semi_annually"`: "2026-05-10", `"at_maturity"`: "2026-05-10", "": "2026-05-10",
	} {
		_, r := runningDeposit(t, withChanges(depositBody, "term_months", "4", "distribution_frequency", frequency))
		if got := dpNextDistribution.Get(r.Values).String(); got != want {
			t.Errorf("%s: first distribution on %s, want %s", frequency, got, want)
		}
	}
}

func TestAReviewThatIsSentWithAnActivationIsValid(t *testing.T) {
	org := newOrgFixture(t, "2026-01-10")
	r := org.open(Deposit, Secular, depositBody)
	for _, wrong := range []string{`{}`, `{"approved_by":""}`, `{"approved_by":"  "}`, `{"note":"x"}`, `{"approved_by":5}`, `"Amina"`, `[]`} {
		org.wantRefused(r, Activate, input("compliance_review", wrong), "compliance_review")
	}
	r = org.act(r, Activate, input("compliance_review", `{"approved_by":"Amina","signed_at":"2026-01-09","document_ref":"D-1","note":"fine"}`))
	if a := approvalText(Reviewed.Get(r.Values)); a != "approved_by=Amina signed_at=2026-01-09 document_ref=D-1 note=fine" {
		t.Errorf("%+v", a)
	}
}

// A religious variant of deposits would need only data and no code. With such a variant, activation requires a review,
// and the penalty goes to the reserve of the pool.
func TestReligiousDepositsWouldNeedOnlyAVariant(t *testing.T) {
	changedProduct := *Deposit
	changedProduct.Variants = map[*Reading]*Variant{Religious: {Name: "mudaraba-deposit", Prefix: "MDD"}}
	religious := define(&changedProduct)
	org := newOrgFixture(t, "2026-01-10")
	r := org.open(religious, Religious, withChanges(depositBody, "early_withdrawal_allowed", "true", "early_withdrawal_penalty_percent", "50"))
	org.wantRefused(r, Activate, nil, "compliance_review")
	org.wantRefused(r, Activate, input("compliance_review", "null"), "compliance_review")
	r = org.act(r, Activate, input("compliance_review", `{"approved_by":"board"}`))
	r = org.act(r, Profit, input("gross_profit", `100`))
	org.wantEntries(r, Withdraw, input("closed_by", `"Amina"`), "Dr Q:capital:{c} 1000", "Dr Q:profit:{c} 60",
		"Cr L:customer:{p}:current 1030", "Cr Q:pool_reserve 30", "Dr A:cash:AE 1030", "Cr A:pool 1030")
}

func TestDepositProfitIsSplitByTheRatioAndTheDepositorTakesTheRemainder(t *testing.T) {
	org, r := runningDeposit(t, withChanges(depositBody, "distribution_frequency", `"monthly"`))
	r = org.wantEntries(r, Profit, input("gross_profit", `"101"`, "period_end_date", `"2026-01-10"`),
		"2026-01-10", "Dr A:pool 101", "Cr Q:profit:{c} 61", "Cr I:mudarib_share 40")
	v, distribution := r.Values, dpDistributions.Get(r.Values)[0]
	if dpValue.Get(v) != money.FromUint64(1061) || dpCustomerProfit.Get(v) != money.FromUint64(61) || dpBankProfit.Get(v) != money.FromUint64(40) {
		t.Errorf("worth %v, shares %v and %v", dpValue.Get(v), dpCustomerProfit.Get(v), dpBankProfit.Get(v))
	}
	if dpDistributedOn.Get(distribution).String() != "2026-01-10" || dpGross.Get(distribution) != money.FromUint64(101) ||
		dpCustomerShare.Get(distribution) != money.FromUint64(61) || dpBankShare.Get(distribution) != money.FromUint64(40) {
		t.Errorf("distribution %v", distribution)
	}
	org.passDays(5)
	r = org.wantEntries(r, Profit, input("gross_profit", `"1"`), "2026-01-15", "Dr A:pool 1", "Cr Q:profit:{c} 1")
	if got := dpDistributedOn.Get(dpDistributions.Get(r.Values)[1]).String(); got != "2026-01-15" {
		t.Errorf("distributed on %s", got)
	}
}

func TestDepositProfitOfZeroMovesTheDistributionDateAndNoMoney(t *testing.T) {
	org, r := runningDeposit(t, withChanges(depositBody, "distribution_frequency", `"monthly"`))
	for _, next := range []string{"2026-03-11", "2026-04-10", "2026-04-10"} { // the last date is the maturity date
		if r = org.wantEntries(r, Profit, input("gross_profit", `"0"`)); dpNextDistribution.Get(r.Values).String() != next {
			t.Errorf("next distribution on %v, want %s", dpNextDistribution.Get(r.Values), next)
		}
	}
	if len(dpDistributions.Get(r.Values)) != 3 {
		t.Errorf("%d distributions", len(dpDistributions.Get(r.Values)))
	}
}

func TestADepositLossReducesTheValueOnlyAndIsCapped(t *testing.T) {
	org, r := runningDeposit(t, withChanges(depositBody, "distribution_frequency", `"monthly"`))
	r = org.act(r, Profit, input("gross_profit", `"100"`))
	next := dpNextDistribution.Get(r.Values)
	org.passDays(30)
	r = org.wantEntries(r, Loss, input("amount", `"200"`, "period_end_date", `"2026-02-01"`), "2026-02-01", "Dr Q:loss:{c} 200", "Cr A:pool 200")
	v := r.Values
	if dpValue.Get(v) != money.FromUint64(860) || dpCustomerProfit.Get(v) != money.FromUint64(60) || dpBankProfit.Get(v) != money.FromUint64(40) ||
		dpPrincipal.Get(v) != money.FromUint64(1000) || dpNextDistribution.Get(v) != next {
		t.Errorf("worth %v, shares %v and %v, next %v", dpValue.Get(v), dpCustomerProfit.Get(v), dpBankProfit.Get(v), dpNextDistribution.Get(v))
	}
	r = org.wantEntries(r, Loss, input("amount", largest), "2026-02-09", "Dr Q:loss:{c} 860", "Cr A:pool 860")
	org.wantRefused(r, Loss, input("amount", `"1"`), "amount") // no value is left to lose
	if r.Status != Active || !dpValue.Get(r.Values).IsZero() {
		t.Errorf("%s, worth %v", r.Status, dpValue.Get(r.Values))
	}
}

func TestADepositMaturesOnItsDate(t *testing.T) {
	org, r := runningDeposit(t, depositBody)
	org.wantRefused(r, Mature, nil, "maturity_date")
	org.passDays(89)
	org.wantRefused(r, Mature, nil, "maturity_date")
	org.passDays(1)
	if r = org.wantEntries(r, Mature, nil); r.Status != Matured || dpNextDistribution.Has(r.Values) {
		t.Errorf("%s, next %v", r.Status, dpNextDistribution.Get(r.Values))
	}
}

// maturedDeposit returns a matured deposit of 1000, with a profit of 60 for the depositor and a loss of 200.
func maturedDeposit(t rapid.TB, request schema.Input) (*orgFixture, *Record) {
	org, r := runningDeposit(t, request)
	r = org.act(r, Profit, input("gross_profit", `"100"`))
	r = org.act(r, Loss, input("amount", `"200"`))
	org.passDays(100)
	return org, org.act(r, Mature, nil)
}

func TestRenewalMakesTheValueThePrincipal(t *testing.T) {
	org, r := maturedDeposit(t, withChanges(depositBody, "distribution_frequency", `"monthly"`))
	r = org.wantEntries(r, Renew, nil, "Dr Q:profit:{c} 60", "Cr Q:capital:{c} 60", "Dr Q:capital:{c} 200", "Cr Q:loss:{c} 200")
	v := r.Values
	if r.Status != Active || dpPrincipal.Get(v) != money.FromUint64(860) || dpValue.Get(v) != money.FromUint64(860) ||
		!dpCustomerProfit.Get(v).IsZero() || !dpBankProfit.Get(v).IsZero() || dpTerm.Get(v) != 3 || dpRatio.Get(v) != (Ratio{Bank: 40, Customer: 60}) {
		t.Errorf("%s with %v, worth %v", r.Status, dpPrincipal.Get(v), dpValue.Get(v))
	}
	if dpRenewedOn.Get(v).String() != "2026-04-20" || dpMaturity.Get(v).String() != "2026-07-19" || dpNextDistribution.Get(v).String() != "2026-05-20" ||
		dpRenewals.Get(v) != 1 || dpOpenedOn.Get(v).String() != "2026-01-10" || len(dpDistributions.Get(v)) != 1 {
		t.Errorf("renewed on %v until %v, next %v", dpRenewedOn.Get(v), dpMaturity.Get(v), dpNextDistribution.Get(v))
	}
	r = org.wantEntries(org.act(r, Profit, input("gross_profit", `"10"`)), Loss, input("amount", `"1"`), "2026-04-20", "Dr Q:loss:{c} 1", "Cr A:pool 1")
	org.passDays(90)
	org.wantEntries(org.act(r, Mature, nil), Renew, nil, "Dr Q:profit:{c} 6", "Cr Q:capital:{c} 6", "Dr Q:capital:{c} 1", "Cr Q:loss:{c} 1")
}

func TestARenewalMayChangeTermAndRatio(t *testing.T) {
	org, r := maturedDeposit(t, depositBody)
	for _, wrong := range notRatios {
		org.wantRefused(r, Renew, input("profit_sharing_ratio", wrong), "profit_sharing_ratio")
	}
	for _, wrong := range []string{"0", "121", `"3"`, hugeInteger} {
		org.wantRefused(r, Renew, input("term_months", wrong), "term_months")
	}
	r = org.act(r, Renew, input("term_months", "120", "profit_sharing_ratio", `{"bank":0,"customer":100}`))
	if v := r.Values; dpTerm.Get(v) != 120 || dpRatio.Get(v) != (Ratio{Customer: 100}) || dpMaturity.Get(v)-dpRenewedOn.Get(v) != 3600 {
		t.Errorf("%d months, %v, until %v", dpTerm.Get(v), dpRatio.Get(v), dpMaturity.Get(v))
	}
}

func TestDepositThatLostEverythingIsNotRenewed(t *testing.T) {
	org, r := runningDeposit(t, withChanges(depositBody, "auto_renewal", "true"))
	r = org.act(r, Loss, input("amount", `"1000"`))
	org.passDays(90)
	r = org.runTimers(r, 1)
	org.wantRefused(r, Renew, nil, "current_value")
	org.wantEntries(r, Close, input("closed_by", `"Amina"`), "Dr Q:capital:{c} 1000", "Cr Q:loss:{c} 1000")
}

// runTimers runs the due timers, and checks their number.
func (org *orgFixture) runTimers(r *Record, want int) *Record {
	org.t.Helper()
	n := 0
	for {
		d, due := r.OnDue(org.now)
		if !due {
			break
		}
		org.book(&d)
		org.checkColumns(d.Record)
		if r = d.Record; !d.MustRecord {
			org.t.Errorf("a timer's decision lacks MustRecord, so the writer may refuse it")
		}
		n++
	}
	if n != want {
		org.t.Errorf("%d timers ran, want %d", n, want)
	}
	return r
}

func TestTimerRenewsADepositWithAutomaticRenewal(t *testing.T) {
	org, r := runningDeposit(t, withChanges(depositBody, "auto_renewal", "true"))
	r = org.act(r, Profit, input("gross_profit", `"100"`))
	org.passDays(89)
	r = org.runTimers(r, 0)
	org.passDays(1)
	d, _ := r.OnDue(org.now)
	if d.Events[0].Name != "mature" || d.Record.Status != Matured || d.Due != startOfDay(dpMaturity.Get(r.Values)) {
		t.Errorf("%v, %s, due %v", d.Events, d.Record.Status, d.Due)
	}
	d, _ = d.Record.OnDue(org.now)
	if d.Events[0].Name != "renew" || formatEntries(d) != "2026-04-10, Dr Q:profit:{c} 60, Cr Q:capital:{c} 60" {
		t.Errorf("%v books %s", d.Events, formatEntries(d))
	}
	org.passDays(200) // two more maturities, on 2026-07-09 and 2026-10-07
	r = org.runTimers(r, 6)
	if v := r.Values; r.Status != Active || dpPrincipal.Get(v) != money.FromUint64(1060) || dpRenewals.Get(v) != 3 ||
		dpRenewedOn.Get(v).String() != "2026-10-07" || dpMaturity.Get(v).String() != "2027-01-05" {
		t.Errorf("%s with %v, renewed %d times, on %v until %v", r.Status, dpPrincipal.Get(v), dpRenewals.Get(v), dpRenewedOn.Get(v), dpMaturity.Get(v))
	}
}

func TestDepositWithoutAutomaticRenewalHasNoTimer(t *testing.T) {
	org, r := runningDeposit(t, depositBody)
	org.passDays(1000)
	if r = org.runTimers(r, 0); r.Status != Active {
		t.Errorf("%s", r.Status)
	}
}

func TestAnEarlyWithdrawalForfeitsAPartOfTheProfit(t *testing.T) {
	body := withChanges(depositBody, "early_withdrawal_allowed", "true")
	for percent, want := range map[string]struct {
		finalValue, penalty int
	}{"": {1061, 0}, "0": {1061, 0}, "33": {1041, 20}, "50": {1031, 30}, "100": {1000, 61}} {
		org, r := runningDeposit(t, withChanges(body, "early_withdrawal_penalty_percent", percent))
		r = org.act(r, Profit, input("gross_profit", `"101"`))
		entry := []string{"Dr Q:capital:{c} 1000", "Dr Q:profit:{c} 61", "Cr L:customer:{p}:current " + strconv.Itoa(want.finalValue)}
		if want.penalty > 0 {
			entry = append(entry, "Cr I:penalty "+strconv.Itoa(want.penalty))
		}
		paid := strconv.Itoa(want.finalValue)
		r = org.wantEntries(r, Withdraw, input("closed_by", `"Amina"`), append(entry, "Dr A:cash:AE "+paid, "Cr A:pool "+paid)...)
		row, rate := dpWithdrawal.Get(r.Values)[0], "0"
		if percent != "" {
			rate = percent
		}
		if dpPenaltyAmount.Get(row).String() != strconv.Itoa(want.penalty) || dpFinalValue.Get(row).String() != paid || strconv.FormatInt(dpPenaltyRate.Get(row), 10) != rate {
			t.Errorf("%s%%: %v", percent, row)
		}
		if v := r.Values; dpValue.Get(v).String() != paid || dpClosedBy.Get(v) != "Amina" || dpClosedAt.Has(v) || dpNextDistribution.Has(v) {
			t.Errorf("worth %v, closed by %q", dpValue.Get(v), dpClosedBy.Get(v))
		}
	}
}

func TestAWithdrawalAfterALossIsNeverBelowZero(t *testing.T) {
	org, r := runningDeposit(t, withChanges(depositBody, "early_withdrawal_allowed", "true", "early_withdrawal_penalty_percent", "100"))
	r = org.act(org.act(r, Profit, input("gross_profit", `"100"`)), Loss, input("amount", `"1020"`))
	r = org.wantEntries(r, Withdraw, input("closed_by", `"Amina"`), "Dr Q:capital:{c} 1000", "Dr Q:profit:{c} 60", "Cr Q:loss:{c} 1020", "Cr I:penalty 40")
	if row := dpWithdrawal.Get(r.Values)[0]; dpPenaltyAmount.Get(row) != money.FromUint64(60) || !dpFinalValue.Get(row).IsZero() {
		t.Errorf("%v", row)
	}
}

func TestEarlyWithdrawalMustBeAllowed(t *testing.T) {
	org, r := runningDeposit(t, depositBody)
	org.wantRefused(r, Withdraw, input("closed_by", `"Amina"`), "early_withdrawal_allowed")
	org.wantRefused(r, Withdraw, nil, "closed_by")
	org.wantRefused(r, Withdraw, input("closed_by", `" "`), "closed_by")
}

func TestClosingAMaturedDepositPaysItsValue(t *testing.T) {
	org, r := maturedDeposit(t, withChanges(depositBody, "early_withdrawal_penalty_percent", "100"))
	org.wantRefused(r, Close, nil, "closed_by")
	r = org.wantEntries(r, Close, input("closed_by", `"Amina"`), "Dr Q:capital:{c} 1000", "Dr Q:profit:{c} 60", "Cr Q:loss:{c} 200",
		"Cr L:customer:{p}:current 860", "Dr A:cash:AE 860", "Cr A:pool 860")
	if v := r.Values; dpClosedAt.Get(v) != org.now || dpClosedBy.Get(v) != "Amina" || dpWithdrawal.Has(v) || dpValue.Get(v) != money.FromUint64(860) {
		t.Errorf("closed at %v by %q, worth %v", dpClosedAt.Get(v), dpClosedBy.Get(v), dpValue.Get(v))
	}
	org.wantConflict(r, Close, input("closed_by", `"Amina"`))
}

func TestClosingAWithdrawnDepositMovesNothing(t *testing.T) {
	org, r := runningDeposit(t, withChanges(depositBody, "early_withdrawal_allowed", "true"))
	r = org.act(r, Withdraw, input("closed_by", `"Amina"`))
	if r = org.wantEntries(r, Close, input("closed_by", `"Omar"`)); dpClosedAt.Get(r.Values) != org.now || dpClosedBy.Get(r.Values) != "Omar" {
		t.Errorf("closed at %v by %q", dpClosedAt.Get(r.Values), dpClosedBy.Get(r.Values))
	}
}

func TestDepositActionsNeedTheirBodies(t *testing.T) {
	org, r := runningDeposit(t, depositBody)
	for _, wrong := range []string{"", "null", `"-1"`, `5`, `"1.5"`} {
		org.wantRefused(r, Profit, withChanges(depositBody, "gross_profit", wrong), "gross_profit")
	}
	for _, wrong := range append(notAmounts, "", "null") {
		org.wantRefused(r, Loss, withChanges(input("amount", `"1"`), "amount", wrong), "amount")
	}
	for _, wrong := range notDates {
		org.wantRefused(r, Profit, input("gross_profit", `"1"`, "period_end_date", wrong), "period_end_date")
		org.wantRefused(r, Loss, input("amount", `"1"`, "period_end_date", wrong), "period_end_date")
	}
}

func TestNumberOfDistributionsOfADepositIsBounded(t *testing.T) {
	org, r := runningDeposit(t, depositBody)
	fullRecord, rows := r.next(), make([]schema.Row, maxRows)
	for i := range rows {
		rows[i] = dpDistributionTable.New()
	}
	dpDistributions.Set(fullRecord.Values, rows[:maxRows-1])
	fullRecord = org.act(fullRecord, Profit, input("gross_profit", `"0"`))
	org.wantRefused(fullRecord, Profit, input("gross_profit", `"0"`), "gross_profit")
}

// A reported period must end between the day on which the money was put in and today.
func TestADepositsPeriodsEndBetweenItsOpeningAndToday(t *testing.T) {
	org, r := runningDeposit(t, depositBody)
	org.passDays(5)
	for _, wrong := range []string{`"2026-01-09"`, `"2026-01-16"`, `"2025-01-12"`, `"9000-12-31"`} {
		org.wantRefused(r, Profit, input("gross_profit", `"1"`, "period_end_date", wrong), "period_end_date")
		org.wantRefused(r, Loss, input("amount", `"1"`, "period_end_date", wrong), "period_end_date")
	}
	for _, valid := range []string{"2026-01-10", "2026-01-15"} {
		r = org.wantEntries(r, Profit, input("gross_profit", `"0"`, "period_end_date", `"`+valid+`"`))
		if rows := dpDistributions.Get(r.Values); dpDistributedOn.Get(rows[len(rows)-1]).String() != valid {
			t.Errorf("distributed on %v", rows)
		}
	}
}

// The specification says: "at_maturity (single distribution on the maturity date)".
func TestDepositAtMaturityAcceptsOneProfitFromItsMaturityDateOn(t *testing.T) {
	org, r := runningDeposit(t, withChanges(depositBody, "distribution_frequency", `"at_maturity"`))
	profit := input("gross_profit", `"100"`)
	org.wantRefused(r, Profit, profit, "maturity_date")
	org.passDays(89)
	org.wantRefused(r, Profit, profit, "maturity_date")
	org.passDays(3) // two days after the maturity
	org.wantRefused(r, Profit, withChanges(profit, "period_end_date", `"2026-04-09"`), "period_end_date")
	r = org.wantEntries(r, Profit, withChanges(profit, "period_end_date", `"2026-04-10"`), "2026-04-10", "Dr A:pool 100", "Cr Q:profit:{c} 60", "Cr I:mudarib_share 40")
	if dpNextDistribution.Has(r.Values) {
		t.Errorf("there is another distribution on %v", dpNextDistribution.Get(r.Values))
	}
	org.wantRefused(r, Profit, profit, "distribution_frequency")
	r = org.act(org.act(r, Mature, nil), Renew, nil)
	org.wantRefused(r, Profit, profit, "maturity_date") // the next term has its own maturity
	org.passDays(90)
	r = org.act(r, Profit, profit)
	org.wantRefused(r, Profit, profit, "distribution_frequency")
}

// A deposit that renews automatically on its maturity date accepts the term's profit afterwards.
func TestRenewedDepositAcceptsTheProfitOfThePreviousTerm(t *testing.T) {
	org, r := runningDeposit(t, withChanges(depositBody, "distribution_frequency", `"at_maturity"`, "auto_renewal", "true"))
	org.passDays(91)
	r = org.runTimers(r, 2)
	profit := input("gross_profit", `"100"`)
	org.wantRefused(r, Profit, withChanges(profit, "period_end_date", `"2026-04-09"`), "period_end_date")
	r = org.act(r, Profit, profit)
	org.wantRefused(r, Profit, profit, "maturity_date")
	if dpNextDistribution.Get(r.Values) != dpMaturity.Get(r.Values) {
		t.Errorf("the next distribution is on %v, and it matures on %v", dpNextDistribution.Get(r.Values), dpMaturity.Get(r.Values))
	}
}

package contract

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// depositBody is the body that opens a deposit.
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
	if r.Status != Pending || dpKind.Get(v) != "general" || dpEarly.Get(v) || dpRenews.Get(v) || dpFrequency.Has(v) {
		t.Errorf("%s, %v", r.Status, v)
	}
}

func TestDerivedDepositFieldsCannotBeSet(t *testing.T) {
	r, fields := openRefused(Deposit, Secular, withChanges(depositBody, "current_value", `"5"`, "maturity_date", `"2026-01-01"`, "closed_by", `"x"`, "rate", "9"))
	if fields != nil || !dpValue.Get(r.Values).IsZero() || dpMaturity.Has(r.Values) || dpCloser.Has(r.Values) {
		t.Errorf("%q, %v", fields, r.Values)
	}
}

func TestDepositsHaveNoAddressInTheReligiousReading(t *testing.T) {
	if Deposit.Variants[Religious] != nil || Deposit.Machine(Religious) != nil {
		t.Error("there is one")
	}
}

func TestStatesOfDeposits(t *testing.T) {
	l := &scenario{product: Deposit, reading: Secular, open: withChanges(depositBody, "early_withdrawal_allowed", "true"), beforeAYear: "mature",
		bodies: map[string]schema.Input{
			"profit": input("gross_profit", `"10"`), "loss": input("amount", `"10"`), "loss:all": input("amount", largest),
			"withdraw": input("closed_by", `"Amina"`), "close": input("closed_by", `"Amina"`),
		},
		grid: map[Status]row{
			"pending":   {"activate": "active"},
			"active":    {"profit": "active", "loss": "active", "loss:all": "active", "mature": "matured", "withdraw": "withdrawn"},
			"matured":   {"renew": "active", "close": "closed"},
			"withdrawn": {"close": "closed"},
			"closed":    {},
		},
		paths: map[Status]string{
			"active": "activate", "matured": "activate mature", "withdrawn": "activate withdraw", "closed": "activate mature close",
		}}
	l.check(t)
	l.paths["closed"], l.paths["active"] = "activate withdraw close", "activate mature renew"
	l.check(t)
}

func TestDepositsHaveNoReview(t *testing.T) {
	w := newOrgFixture(t, "2026-01-10")
	r := w.open(Deposit, Secular, depositBody)
	for _, name := range []Action{Submit, Pass, Reject, Fund} {
		w.wantRefused(r, name, nil, "action")
	}
}

// runningDeposit opens a deposit and activates it.
func runningDeposit(t rapid.TB, sent schema.Input) (*orgFixture, *Record) {
	w := newOrgFixture(t, "2026-01-10")
	return w, w.act(w.open(Deposit, Secular, sent), Activate, nil)
}

func TestActivationPutsTheMoneyIntoThePool(t *testing.T) {
	w := newOrgFixture(t, "2026-01-10")
	r := w.open(Deposit, Secular, withChanges(depositBody, "distribution_frequency", `"monthly"`))
	r = w.wantEntries(r, Activate, nil, "2026-01-10", "Dr A:cash:AE 1000", "Cr Q:capital:{c} 1000", "Dr A:pool 1000", "Cr A:cash:AE 1000")
	v := r.Values
	if dpOpened.Get(v).String() != "2026-01-10" || dpMaturity.Get(v).String() != "2026-04-10" || dpNext.Get(v).String() != "2026-02-09" ||
		dpValue.Get(v) != money.FromUint64(1000) || Reviewed.Has(v) {
		t.Errorf("from %v to %v, first %v, worth %v", dpOpened.Get(v), dpMaturity.Get(v), dpNext.Get(v), dpValue.Get(v))
	}
}

func TestFirstDistributionIsAfterOnePeriodOrAtMaturity(t *testing.T) {
	for frequency, first := range map[string]string{
		`"monthly"`: "2026-02-09", `"quarterly"`: "2026-04-10", `"semi_annually"`: "2026-05-10", `"at_maturity"`: "2026-05-10", "": "2026-05-10",
	} {
		_, r := runningDeposit(t, withChanges(depositBody, "term_months", "4", "distribution_frequency", frequency))
		if got := dpNext.Get(r.Values).String(); got != first {
			t.Errorf("%s: first distribution on %s, want %s", frequency, got, first)
		}
	}
}

func TestAReviewThatIsSentWithAnActivationIsValid(t *testing.T) {
	w := newOrgFixture(t, "2026-01-10")
	r := w.open(Deposit, Secular, depositBody)
	for _, wrong := range []string{`{}`, `{"approved_by":""}`, `{"approved_by":"  "}`, `{"note":"x"}`, `{"approved_by":5}`, `"Amina"`, `[]`} {
		w.wantRefused(r, Activate, input("compliance_review", wrong), "compliance_review")
	}
	r = w.act(r, Activate, input("compliance_review", `{"approved_by":"Amina","signed_at":"2026-01-09","document_ref":"D-1","note":"fine"}`))
	if a := approvalText(Reviewed.Get(r.Values)); a != "approved_by=Amina signed_at=2026-01-09 document_ref=D-1 note=fine" {
		t.Errorf("%+v", a)
	}
}

// A religious variant of deposits would need only data: with it, activation requires a review, and
// the penalty stays with the pool's depositors.
func TestReligiousDepositsWouldNeedOnlyAVariant(t *testing.T) {
	copied := *Deposit
	copied.Variants = map[*Reading]*Variant{Religious: {Name: "mudaraba-deposit", Prefix: "MDD"}}
	religious := define(&copied)
	w := newOrgFixture(t, "2026-01-10")
	r := w.open(religious, Religious, withChanges(depositBody, "early_withdrawal_allowed", "true", "early_withdrawal_penalty_percent", "50"))
	w.wantRefused(r, Activate, nil, "compliance_review")
	w.wantRefused(r, Activate, input("compliance_review", "null"), "compliance_review")
	r = w.act(r, Activate, input("compliance_review", `{"approved_by":"board"}`))
	r = w.act(r, Profit, input("gross_profit", `100`))
	w.wantEntries(r, Withdraw, input("closed_by", `"Amina"`), "Dr Q:capital:{c} 1000", "Dr Q:profit:{c} 60",
		"Cr L:customer:{p}:current 1030", "Cr Q:pool_reserve 30", "Dr A:cash:AE 1030", "Cr A:pool 1030")
}

func TestDepositProfitIsSplitByTheRatioAndTheDepositorTakesTheRemainder(t *testing.T) {
	w, r := runningDeposit(t, withChanges(depositBody, "distribution_frequency", `"monthly"`))
	r = w.wantEntries(r, Profit, input("gross_profit", `"101"`, "period_end_date", `"2026-01-10"`),
		"2026-01-10", "Dr A:pool 101", "Cr Q:profit:{c} 61", "Cr I:mudarib_share 40")
	v, d := r.Values, dpDistributions.Get(r.Values)[0]
	if dpValue.Get(v) != money.FromUint64(1061) || dpTheirProfit.Get(v) != money.FromUint64(61) || dpBankProfit.Get(v) != money.FromUint64(40) {
		t.Errorf("worth %v, shares %v and %v", dpValue.Get(v), dpTheirProfit.Get(v), dpBankProfit.Get(v))
	}
	if dpDistributedOn.Get(d).String() != "2026-01-10" || dpGross.Get(d) != money.FromUint64(101) ||
		dpTheirShare.Get(d) != money.FromUint64(61) || dpBankShare.Get(d) != money.FromUint64(40) {
		t.Errorf("distribution %v", d)
	}
	w.passDays(5)
	r = w.wantEntries(r, Profit, input("gross_profit", `"1"`), "2026-01-15", "Dr A:pool 1", "Cr Q:profit:{c} 1")
	if got := dpDistributedOn.Get(dpDistributions.Get(r.Values)[1]).String(); got != "2026-01-15" {
		t.Errorf("distributed on %s", got)
	}
}

func TestDepositProfitOfZeroMovesTheDistributionDateAndNoMoney(t *testing.T) {
	w, r := runningDeposit(t, withChanges(depositBody, "distribution_frequency", `"monthly"`))
	for _, next := range []string{"2026-03-11", "2026-04-10", "2026-04-10"} { // the last date is the maturity date
		if r = w.wantEntries(r, Profit, input("gross_profit", `"0"`)); dpNext.Get(r.Values).String() != next {
			t.Errorf("next distribution on %v, want %s", dpNext.Get(r.Values), next)
		}
	}
	if len(dpDistributions.Get(r.Values)) != 3 {
		t.Errorf("%d distributions", len(dpDistributions.Get(r.Values)))
	}
}

func TestADepositLossReducesTheValueOnlyAndIsCapped(t *testing.T) {
	w, r := runningDeposit(t, withChanges(depositBody, "distribution_frequency", `"monthly"`))
	r = w.act(r, Profit, input("gross_profit", `"100"`))
	next := dpNext.Get(r.Values)
	w.passDays(30)
	r = w.wantEntries(r, Loss, input("amount", `"200"`, "period_end_date", `"2026-02-01"`), "2026-02-01", "Dr Q:loss:{c} 200", "Cr A:pool 200")
	v := r.Values
	if dpValue.Get(v) != money.FromUint64(860) || dpTheirProfit.Get(v) != money.FromUint64(60) || dpBankProfit.Get(v) != money.FromUint64(40) ||
		dpPrincipal.Get(v) != money.FromUint64(1000) || dpNext.Get(v) != next {
		t.Errorf("worth %v, shares %v and %v, next %v", dpValue.Get(v), dpTheirProfit.Get(v), dpBankProfit.Get(v), dpNext.Get(v))
	}
	r = w.wantEntries(r, Loss, input("amount", largest), "2026-02-09", "Dr Q:loss:{c} 860", "Cr A:pool 860")
	w.wantRefused(r, Loss, input("amount", `"1"`), "amount") // nothing is left
	if r.Status != Active || !dpValue.Get(r.Values).IsZero() {
		t.Errorf("%s, worth %v", r.Status, dpValue.Get(r.Values))
	}
}

func TestADepositMaturesOnItsDate(t *testing.T) {
	w, r := runningDeposit(t, depositBody)
	w.wantRefused(r, Mature, nil, "maturity_date")
	w.passDays(89)
	w.wantRefused(r, Mature, nil, "maturity_date")
	w.passDays(1)
	if r = w.wantEntries(r, Mature, nil); r.Status != Matured || dpNext.Has(r.Values) {
		t.Errorf("%s, next %v", r.Status, dpNext.Get(r.Values))
	}
}

// maturedDeposit returns a matured deposit of 1000, with a profit of 60 for the depositor and a loss of 200.
func maturedDeposit(t rapid.TB, sent schema.Input) (*orgFixture, *Record) {
	w, r := runningDeposit(t, sent)
	r = w.act(r, Profit, input("gross_profit", `"100"`))
	r = w.act(r, Loss, input("amount", `"200"`))
	w.passDays(100)
	return w, w.act(r, Mature, nil)
}

func TestRenewalMakesTheValueThePrincipal(t *testing.T) {
	w, r := maturedDeposit(t, withChanges(depositBody, "distribution_frequency", `"monthly"`))
	r = w.wantEntries(r, Renew, nil, "Dr Q:profit:{c} 60", "Cr Q:capital:{c} 60", "Dr Q:capital:{c} 200", "Cr Q:loss:{c} 200")
	v := r.Values
	if r.Status != Active || dpPrincipal.Get(v) != money.FromUint64(860) || dpValue.Get(v) != money.FromUint64(860) ||
		!dpTheirProfit.Get(v).IsZero() || !dpBankProfit.Get(v).IsZero() || dpTerm.Get(v) != 3 || dpRatio.Get(v) != (Ratio{Bank: 40, Customer: 60}) {
		t.Errorf("%s with %v, worth %v", r.Status, dpPrincipal.Get(v), dpValue.Get(v))
	}
	if dpRenewed.Get(v).String() != "2026-04-20" || dpMaturity.Get(v).String() != "2026-07-19" || dpNext.Get(v).String() != "2026-05-20" ||
		dpRenewals.Get(v) != 1 || dpOpened.Get(v).String() != "2026-01-10" || len(dpDistributions.Get(v)) != 1 {
		t.Errorf("renewed on %v until %v, next %v", dpRenewed.Get(v), dpMaturity.Get(v), dpNext.Get(v))
	}
	r = w.wantEntries(w.act(r, Profit, input("gross_profit", `"10"`)), Loss, input("amount", `"1"`), "2026-04-20", "Dr Q:loss:{c} 1", "Cr A:pool 1")
	w.passDays(90)
	w.wantEntries(w.act(r, Mature, nil), Renew, nil, "Dr Q:profit:{c} 6", "Cr Q:capital:{c} 6", "Dr Q:capital:{c} 1", "Cr Q:loss:{c} 1")
}

func TestARenewalMayChangeTermAndRatio(t *testing.T) {
	w, r := maturedDeposit(t, depositBody)
	for _, wrong := range notRatios {
		w.wantRefused(r, Renew, input("profit_sharing_ratio", wrong), "profit_sharing_ratio")
	}
	for _, wrong := range []string{"0", "121", `"3"`, hugeInteger} {
		w.wantRefused(r, Renew, input("term_months", wrong), "term_months")
	}
	r = w.act(r, Renew, input("term_months", "120", "profit_sharing_ratio", `{"bank":0,"customer":100}`))
	if v := r.Values; dpTerm.Get(v) != 120 || dpRatio.Get(v) != (Ratio{Customer: 100}) || dpMaturity.Get(v)-dpRenewed.Get(v) != 3600 {
		t.Errorf("%d months, %v, until %v", dpTerm.Get(v), dpRatio.Get(v), dpMaturity.Get(v))
	}
}

func TestDepositThatLostEverythingIsNotRenewed(t *testing.T) {
	w, r := runningDeposit(t, withChanges(depositBody, "auto_renewal", "true"))
	r = w.act(r, Loss, input("amount", `"1000"`))
	w.passDays(90)
	r = w.runTimers(r, 1)
	w.wantRefused(r, Renew, nil, "current_value")
	w.wantEntries(r, Close, input("closed_by", `"Amina"`), "Dr Q:capital:{c} 1000", "Cr Q:loss:{c} 1000")
}

// runTimers runs the due timers, and checks their number.
func (w *orgFixture) runTimers(r *Record, want int) *Record {
	w.t.Helper()
	n := 0
	for {
		d, due := r.OnDue(w.now)
		if !due {
			break
		}
		w.book(&d)
		w.checkColumns(d.Record)
		if r = d.Record; !d.MustRecord {
			w.t.Errorf("what time does may be refused")
		}
		n++
	}
	if n != want {
		w.t.Errorf("time did %d things, want %d", n, want)
	}
	return r
}

func TestTimerRenewsADepositWithAutomaticRenewal(t *testing.T) {
	w, r := runningDeposit(t, withChanges(depositBody, "auto_renewal", "true"))
	r = w.act(r, Profit, input("gross_profit", `"100"`))
	w.passDays(89)
	r = w.runTimers(r, 0)
	w.passDays(1)
	d, _ := r.OnDue(w.now)
	if d.Events[0].Name != "mature" || d.Record.Status != Matured || d.Due != startOfDay(dpMaturity.Get(r.Values)) {
		t.Errorf("%v, %s, due %v", d.Events, d.Record.Status, d.Due)
	}
	d, _ = d.Record.OnDue(w.now)
	if d.Events[0].Name != "renew" || formatEntries(d) != "2026-04-10, Dr Q:profit:{c} 60, Cr Q:capital:{c} 60" {
		t.Errorf("%v books %s", d.Events, formatEntries(d))
	}
	w.passDays(200) // two more maturities, on 2026-07-09 and 2026-10-07
	r = w.runTimers(r, 6)
	if v := r.Values; r.Status != Active || dpPrincipal.Get(v) != money.FromUint64(1060) || dpRenewals.Get(v) != 3 ||
		dpRenewed.Get(v).String() != "2026-10-07" || dpMaturity.Get(v).String() != "2027-01-05" {
		t.Errorf("%s with %v, renewed %d times, on %v until %v", r.Status, dpPrincipal.Get(v), dpRenewals.Get(v), dpRenewed.Get(v), dpMaturity.Get(v))
	}
}

func TestDepositWithoutAutomaticRenewalHasNoTimer(t *testing.T) {
	w, r := runningDeposit(t, depositBody)
	w.passDays(1000)
	if r = w.runTimers(r, 0); r.Status != Active {
		t.Errorf("%s", r.Status)
	}
}

func TestAnEarlyWithdrawalForfeitsAPartOfTheProfit(t *testing.T) {
	early := withChanges(depositBody, "early_withdrawal_allowed", "true")
	for percent, want := range map[string]struct {
		final, penalty int
	}{"": {1061, 0}, "0": {1061, 0}, "33": {1041, 20}, "50": {1031, 30}, "100": {1000, 61}} {
		w, r := runningDeposit(t, withChanges(early, "early_withdrawal_penalty_percent", percent))
		r = w.act(r, Profit, input("gross_profit", `"101"`))
		entry := []string{"Dr Q:capital:{c} 1000", "Dr Q:profit:{c} 61", "Cr L:customer:{p}:current " + strconv.Itoa(want.final)}
		if want.penalty > 0 {
			entry = append(entry, "Cr I:penalty "+strconv.Itoa(want.penalty))
		}
		paid := strconv.Itoa(want.final)
		r = w.wantEntries(r, Withdraw, input("closed_by", `"Amina"`), append(entry, "Dr A:cash:AE "+paid, "Cr A:pool "+paid)...)
		row, rate := dpWithdrawal.Get(r.Values)[0], "0"
		if percent != "" {
			rate = percent
		}
		if dpForfeited.Get(row).String() != strconv.Itoa(want.penalty) || dpFinal.Get(row).String() != paid || strconv.FormatInt(dpForfeitRate.Get(row), 10) != rate {
			t.Errorf("%s%%: %v", percent, row)
		}
		if v := r.Values; dpValue.Get(v).String() != paid || dpCloser.Get(v) != "Amina" || dpClosed.Has(v) || dpNext.Has(v) {
			t.Errorf("worth %v, closed by %q", dpValue.Get(v), dpCloser.Get(v))
		}
	}
}

func TestAWithdrawalAfterALossIsNeverBelowZero(t *testing.T) {
	w, r := runningDeposit(t, withChanges(depositBody, "early_withdrawal_allowed", "true", "early_withdrawal_penalty_percent", "100"))
	r = w.act(w.act(r, Profit, input("gross_profit", `"100"`)), Loss, input("amount", `"1020"`))
	r = w.wantEntries(r, Withdraw, input("closed_by", `"Amina"`), "Dr Q:capital:{c} 1000", "Dr Q:profit:{c} 60", "Cr Q:loss:{c} 1020", "Cr I:penalty 40")
	if row := dpWithdrawal.Get(r.Values)[0]; dpForfeited.Get(row) != money.FromUint64(60) || !dpFinal.Get(row).IsZero() {
		t.Errorf("%v", row)
	}
}

func TestEarlyWithdrawalMustBeAllowed(t *testing.T) {
	w, r := runningDeposit(t, depositBody)
	w.wantRefused(r, Withdraw, input("closed_by", `"Amina"`), "early_withdrawal_allowed")
	w.wantRefused(r, Withdraw, nil, "closed_by")
	w.wantRefused(r, Withdraw, input("closed_by", `" "`), "closed_by")
}

func TestClosingAMaturedDepositPaysItsValue(t *testing.T) {
	w, r := maturedDeposit(t, withChanges(depositBody, "early_withdrawal_penalty_percent", "100"))
	w.wantRefused(r, Close, nil, "closed_by")
	r = w.wantEntries(r, Close, input("closed_by", `"Amina"`), "Dr Q:capital:{c} 1000", "Dr Q:profit:{c} 60", "Cr Q:loss:{c} 200",
		"Cr L:customer:{p}:current 860", "Dr A:cash:AE 860", "Cr A:pool 860")
	if v := r.Values; dpClosed.Get(v) != w.now || dpCloser.Get(v) != "Amina" || dpWithdrawal.Has(v) || dpValue.Get(v) != money.FromUint64(860) {
		t.Errorf("closed at %v by %q, worth %v", dpClosed.Get(v), dpCloser.Get(v), dpValue.Get(v))
	}
	w.wantConflict(r, Close, input("closed_by", `"Amina"`))
}

func TestClosingAWithdrawnDepositMovesNothing(t *testing.T) {
	w, r := runningDeposit(t, withChanges(depositBody, "early_withdrawal_allowed", "true"))
	r = w.act(r, Withdraw, input("closed_by", `"Amina"`))
	if r = w.wantEntries(r, Close, input("closed_by", `"Omar"`)); dpClosed.Get(r.Values) != w.now || dpCloser.Get(r.Values) != "Omar" {
		t.Errorf("closed at %v by %q", dpClosed.Get(r.Values), dpCloser.Get(r.Values))
	}
}

func TestDepositActionsNeedTheirBodies(t *testing.T) {
	w, r := runningDeposit(t, depositBody)
	for _, wrong := range []string{"", "null", `"-1"`, `5`, `"1.5"`} {
		w.wantRefused(r, Profit, withChanges(depositBody, "gross_profit", wrong), "gross_profit")
	}
	for _, wrong := range append(notAmounts, "", "null") {
		w.wantRefused(r, Loss, withChanges(input("amount", `"1"`), "amount", wrong), "amount")
	}
	for _, wrong := range notDates {
		w.wantRefused(r, Profit, input("gross_profit", `"1"`, "period_end_date", wrong), "period_end_date")
		w.wantRefused(r, Loss, input("amount", `"1"`, "period_end_date", wrong), "period_end_date")
	}
}

func TestNumberOfDistributionsOfADepositIsBounded(t *testing.T) {
	w, r := runningDeposit(t, depositBody)
	fullRecord, all := r.next(), make([]schema.Row, maxRows)
	for i := range all {
		all[i] = dpDistribution.New()
	}
	dpDistributions.Set(fullRecord.Values, all[:maxRows-1])
	fullRecord = w.act(fullRecord, Profit, input("gross_profit", `"0"`))
	w.wantRefused(fullRecord, Profit, input("gross_profit", `"0"`), "gross_profit")
}

// A reported period must end between the day on which the money was put in and today.
func TestADepositsPeriodsEndBetweenItsOpeningAndToday(t *testing.T) {
	w, r := runningDeposit(t, depositBody)
	w.passDays(5)
	for _, wrong := range []string{`"2026-01-09"`, `"2026-01-16"`, `"2025-01-12"`, `"9000-12-31"`} {
		w.wantRefused(r, Profit, input("gross_profit", `"1"`, "period_end_date", wrong), "period_end_date")
		w.wantRefused(r, Loss, input("amount", `"1"`, "period_end_date", wrong), "period_end_date")
	}
	for _, right := range []string{"2026-01-10", "2026-01-15"} {
		r = w.wantEntries(r, Profit, input("gross_profit", `"0"`, "period_end_date", `"`+right+`"`))
		if rows := dpDistributions.Get(r.Values); dpDistributedOn.Get(rows[len(rows)-1]).String() != right {
			t.Errorf("distributed on %v", rows)
		}
	}
}

// In the specification's words: "at_maturity (single distribution on the maturity date)".
func TestDepositAtMaturityAcceptsOneProfitFromItsMaturityDateOn(t *testing.T) {
	w, r := runningDeposit(t, withChanges(depositBody, "distribution_frequency", `"at_maturity"`))
	one := input("gross_profit", `"100"`)
	w.wantRefused(r, Profit, one, "maturity_date")
	w.passDays(89)
	w.wantRefused(r, Profit, one, "maturity_date")
	w.passDays(3) // two days after the maturity
	w.wantRefused(r, Profit, withChanges(one, "period_end_date", `"2026-04-09"`), "period_end_date")
	r = w.wantEntries(r, Profit, withChanges(one, "period_end_date", `"2026-04-10"`), "2026-04-10", "Dr A:pool 100", "Cr Q:profit:{c} 60", "Cr I:mudarib_share 40")
	if dpNext.Has(r.Values) {
		t.Errorf("there is another distribution on %v", dpNext.Get(r.Values))
	}
	w.wantRefused(r, Profit, one, "distribution_frequency")
	r = w.act(w.act(r, Mature, nil), Renew, nil)
	w.wantRefused(r, Profit, one, "maturity_date") // the next term has its own maturity
	w.passDays(90)
	r = w.act(r, Profit, one)
	w.wantRefused(r, Profit, one, "distribution_frequency")
}

// A deposit that renews automatically on its maturity date accepts the term's profit afterwards.
func TestRenewedDepositAcceptsTheProfitOfThePreviousTerm(t *testing.T) {
	w, r := runningDeposit(t, withChanges(depositBody, "distribution_frequency", `"at_maturity"`, "auto_renewal", "true"))
	w.passDays(91)
	r = w.runTimers(r, 2)
	one := input("gross_profit", `"100"`)
	w.wantRefused(r, Profit, withChanges(one, "period_end_date", `"2026-04-09"`), "period_end_date")
	r = w.act(r, Profit, one)
	w.wantRefused(r, Profit, one, "maturity_date")
	if dpNext.Get(r.Values) != dpMaturity.Get(r.Values) {
		t.Errorf("the next distribution is on %v, and it matures on %v", dpNext.Get(r.Values), dpMaturity.Get(r.Values))
	}
}

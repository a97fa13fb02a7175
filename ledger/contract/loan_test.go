package contract

import (
	"strings"
	"testing"

	"mizan/ledger/schema"
)

func loanBody() schema.Input {
	return input("customer_id", someone, "region", `"BH"`, "amount", `"1000"`, "due_date", `"2026-01-31"`)
}

// lent returns an active loan of 1000 that is due on 2026-01-31.
func lent(t *testing.T) *contractFixture {
	t.Helper()
	x := openContract(t, Loan, Secular, loanBody())
	x.do(Disburse)
	return x
}

func TestALoanIsAskedForByItsFields(t *testing.T) {
	openWithChanges(t, Loan, Secular, loanBody(), []fieldCase{
		{"customer_id", "", "customer_id"},
		{"region", `"ZZ"`, "region"},
		{"currency", `"USD"`, ""},
		{"amount", "", "amount"},
		{"amount", `"0"`, "amount"},
		{"amount", `1`, "amount"},
		{"amount", `"1` + strings.Repeat("0", 72) + `"`, ""},
		{"amount", `"1` + strings.Repeat("0", 72) + `1"`, "amount"},
		{"due_date", "", "due_date"},
		{"due_date", `"2025-12-31"`, "due_date"},
		{"due_date", `"2026-01-01"`, ""}, // today
		{"due_date", `"9000-12-31"`, ""},
		{"due_date", `"9001-01-01"`, "due_date"},
		{"purpose", `"school fees"`, ""},
		{"purpose", `" "`, "purpose"},
	})
}

// Nothing may be charged on a loan: there is no column for a rate, a fee or a penalty.
func TestALoanHasNoCharge(t *testing.T) {
	for _, c := range Loan.Columns.Columns {
		charge := c.Kind == schema.KindPercent || c.Kind == KindShares
		for _, word := range []string{"rate", "yield", "profit", "markup", "fee", "penalty"} {
			charge = charge || strings.Contains(c.Name, word)
		}
		if charge {
			t.Errorf("there is a column %s", c.Name)
		}
	}
}

func TestALoanEndsWhenAllIsRepaid(t *testing.T) {
	x := openContract(t, Loan, Secular, loanBody())
	x.wantColumns("currency", "BHD", "outstanding", "0", "total_paid", "0", "forgiven_amount", "0", "start_date", "")
	x.wantPostings()
	x.do(Disburse)
	x.wantPostings("Dr A:receivable:{c} 1000", "Cr A:cash:BH 1000")
	x.wantColumns("outstanding", "1000", "start_date", "2026-01-01")
	for _, amount := range []string{"", `"0"`, `1`, `"1001"`} {
		x.wantRefused("amount", Repay, pairsOf(withChanges(nil, "amount", amount))...)
	}
	x.passDays(10)
	x.do(Repay, "amount", `"300"`)
	x.wantPostings("Dr A:cash:BH 300", "Cr A:receivable:{c} 300")
	x.wantColumns("outstanding", "700", "total_paid", "300", "completed_at", "")
	x.do(Repay, "amount", `"700"`)
	x.wantPostings("Dr A:cash:BH 700", "Cr A:receivable:{c} 700")
	x.wantColumns("outstanding", "0", "total_paid", "1000", "forgiven_amount", "0", "completed_at", "2026-01-11T12:00:00Z")
	if x.r.Status != Completed || !x.d.Finish || x.d.Due != 0 {
		t.Errorf("%s, finished: %v, due: %v", x.r.Status, x.d.Finish, x.d.Due)
	}
}

// A loan is overdue from the day after its due date. That moves no money, and the customer may
// still repay.
func TestALoanIsOverdueAfterItsDueDate(t *testing.T) {
	x := lent(t)
	x.passDays(30)
	if x.r.Status != Active {
		t.Errorf("on its due date it is %s", x.r.Status)
	}
	x.passDays(1)
	if x.r.Status != Overdue || x.d.Due != 0 {
		t.Errorf("after its due date it is %s, and due again: %v", x.r.Status, x.d.Due)
	}
	x.wantPostings()
	x.passDays(1000)
	x.wantColumns("outstanding", "1000")
	x.do(Repay, "amount", `"1"`)
	if x.r.Status != Overdue {
		t.Errorf("with a part repaid it is %s", x.r.Status)
	}
	x.do(Repay, "amount", `"999"`)
	x.wantPostings("Dr A:cash:BH 999", "Cr A:receivable:{c} 999")
	if x.r.Status != Completed {
		t.Errorf("with the rest repaid it is %s", x.r.Status)
	}
}

// A loan that is paid out after its due date is overdue at once.
func TestALoanMayBePaidOutLate(t *testing.T) {
	x := openContract(t, Loan, Secular, loanBody())
	x.passDays(40)
	x.do(Disburse)
	x.passDays(0)
	if x.r.Status != Overdue {
		t.Errorf("it is %s", x.r.Status)
	}
}

func TestTheRestOfAnOverdueLoanMayBeForgiven(t *testing.T) {
	x := lent(t)
	x.do(Repay, "amount", `"300"`)
	x.passDays(31)
	x.wantRefused("forgiven_by", Forgive)
	x.wantRefused("forgiven_by", Forgive, "forgiven_by", `" "`)
	x.do(Forgive, "forgiven_by", `"the board"`)
	x.wantPostings("Dr E:qard_forgiven 700", "Cr A:receivable:{c} 700")
	x.wantColumns("outstanding", "0", "total_paid", "300", "forgiven_amount", "700", "forgiven_by", "the board", "completed_at", "2026-02-01T12:00:00Z")
	if x.r.Status != Forgiven || !x.d.Finish {
		t.Errorf("%s, finished: %v", x.r.Status, x.d.Finish)
	}
}

func loanMoves(review schema.Input) map[string]move {
	return map[string]move{
		"submit": {name: Submit}, "review": {name: Pass, input: review}, "reject": {name: Reject, input: input("reason", `"no"`)},
		"disburse": {name: Disburse}, "repay": {name: Repay, input: input("amount", `"1"`)}, "repay all": {name: Repay, input: input("amount", `"1000"`)},
		"forgive":    {name: Forgive, input: input("forgiven_by", `"the board"`)},
		"repay late": {name: Repay, input: input("amount", `"1"`), days: 31},
	}
}

func TestActionsOfALoanInEveryState(t *testing.T) {
	repaid := map[string]string{"repay": "active", "repay all": "completed", "repay late": "overdue"}
	for reading, want := range map[*Reading]grid{
		Secular: {
			Draft:        {"submit": "under_review", "disburse": "active"},
			UnderReview:  {"review": "review_passed", "reject": "rejected"},
			ReviewPassed: {"disburse": "active"},
		},
		Religious: {
			Draft:        {"submit": "under_review", "review": "review_passed", "reject": "rejected"},
			UnderReview:  {"review": "review_passed", "reject": "rejected"},
			ReviewPassed: {"disburse": "active"},
		},
	} {
		want[Active] = repaid
		want[Overdue] = map[string]string{"repay": "overdue", "repay late": "overdue", "forgive": "forgiven"}
		want[Refused], want[Completed], want[Forgiven] = nil, nil, nil
		routes := map[Status][]string{
			UnderReview: {"submit"}, ReviewPassed: {"submit", "review"}, Refused: {"submit", "reject"}, Active: {"submit", "review", "disburse"},
			Overdue: {"submit", "review", "disburse", "repay late"}, Completed: {"submit", "review", "disburse", "repay all"},
			Forgiven: {"submit", "review", "disburse", "repay late", "forgive"},
		}
		// In state overdue 999 are left, so that repaying all is refused.
		want[Overdue]["repay all"] = "422 amount"
		checkGrid(t, Loan, reading, loanBody(), loanMoves(board()), routes, want)
	}
}

func TestALoansActionsAreTheListedOnes(t *testing.T) {
	checkNames(t, Loan, Religious, "qard", "QRD", map[string]Action{"approve": Pass, "reject": Reject, "disburse": Disburse, "repay": Repay, "forgive": Forgive})
	checkNames(t, Loan, Secular, "benevolent-loans", "BL", map[string]Action{
		"submit": Submit, "review": Pass, "reject": Reject, "disburse": Disburse, "repay": Repay, "forgive": Forgive,
	})
}

// loanSums checks that what was lent is outstanding, repaid or forgiven.
func loanSums(x *contractFixture) {
	v := x.r.Values
	if !lnStart.Has(v) {
		return
	}
	if got := plus(plus(lnOutstanding.Get(v), lnPaid.Get(v)), lnForgiven.Get(v)); got != lnAmount.Get(v) {
		x.t.Fatalf("of %v lent, %v are accounted for", lnAmount.Get(v), got)
	}
}

package contract

import (
	"math/big"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// leaseLife is a lease on which random actions are tried, and its expected totals, which the test counts in
// a naive way.
type leaseLife struct {
	*leaseFixture
	cost, rental, advance, deposit, residual, term *big.Int
	paid, expenses                                 *big.Int
	started                                        ledger.Date
}

// Whatever actions are tried in whatever order and at whatever time, entries balance and the columns agree
// with the accounts (apply checks both). An action that the state does not allow is refused and changes
// nothing (try checks this). The amounts earned, spent and paid follow the terms.
func TestRandomLivesOfLeases(t *testing.T) {
	ended := map[Status]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			l := newLeaseLife(t)
			if rapid.IntRange(0, 4).Draw(t, "stays a draft") > 0 {
				for _, name := range []string{"submit", "review", "acquire", "activate"} {
					l.attempt(t, name)
					l.checkTotals(t)
				}
			}
			for range rapid.IntRange(1, 40).Draw(t, "steps") {
				l.step(t)
				l.checkTotals(t)
			}
			ended[l.record.Status]++
		}
	})
	t.Log(ended)
	for _, state := range leaseStates {
		if ended[state] == 0 {
			t.Errorf("no life ended %s: the lives are too dull", state)
		}
	}
}

func newLeaseLife(t *rapid.T) *leaseLife {
	size := rapid.SampledFrom([]string{"", "", "000000", "00000000000000000000000000000000000000000000000000000000000000000"}).Draw(t, "size")
	draw := func(low, high int, name string) *big.Int {
		n, _ := new(big.Int).SetString(strconv.Itoa(rapid.IntRange(low, high).Draw(t, name))+size, 10)
		return n
	}
	l := &leaseLife{cost: draw(1, 5000, "cost"), rental: draw(1, 300, "rental"), advance: new(big.Int), deposit: new(big.Int), residual: new(big.Int),
		term: big.NewInt(int64(rapid.IntRange(1, 12).Draw(t, "term"))), paid: new(big.Int), expenses: new(big.Int)}
	if rapid.Bool().Draw(t, "advances") {
		l.advance = draw(1, 500, "advance")
	}
	if rapid.Bool().Draw(t, "deposits") {
		l.deposit = draw(1, 500, "deposit")
	}
	body := leaseBody("asset_cost", amountMember(l.cost), "monthly_rental", amountMember(l.rental), "lease_term_months", l.term.String(),
		"advance_rental", amountMember(l.advance), "security_deposit", amountMember(l.deposit), "residual_value", "")
	field := "residual_value"
	if rapid.Bool().Draw(t, "finance") {
		body["lease_type"], field = []byte(`"finance"`), "purchase_option_price"
		l.residual.SetInt64(1)
	}
	if left := draw(1, 5000, "left"); left.Cmp(l.cost) <= 0 {
		l.residual = left
	}
	if body[field] = []byte(amountMember(l.residual)); l.residual.Sign() == 0 {
		delete(body, field)
	}
	l.leaseFixture = newLease(t, rapid.SampledFrom(Readings).Draw(t, "reading"), body)
	return l
}

// amountMember returns an amount as in a request; empty for zero, so that the member is left out.
func amountMember(n *big.Int) string {
	if n.Sign() == 0 {
		return ""
	}
	return `"` + n.String() + `"`
}

func bigOf(a money.Amount) *big.Int {
	n, _ := new(big.Int).SetString(a.String(), 10)
	return n
}

// step lets time pass or tries an action. It tries actions that continue the lease often, and those that
// end it seldom.
func (l *leaseLife) step(t *rapid.T) {
	name := rapid.SampledFrom([]string{
		"time", "time", "time", "acquire", "activate", "payment", "payment", "payment", "all", "arrears", "expense",
		"submit", "review", "reject", "return", "transfer_pending", "transfer", "transfer", "terminate",
	}).Draw(t, "what")
	seldom := []string{"submit", "reject", "return", "terminate", "transfer_pending"}
	if slices.Contains(seldom, name) && rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
		name = "time"
	}
	if name == "time" {
		l.passTime(t)
		return
	}
	l.attempt(t, name)
}

// attempt tries an action, and compares its result with the grid.
func (l *leaseLife) attempt(t *rapid.T, name string) {
	action, body, sum := l.body(t, name)
	was := l.record
	refusal := l.attempt(action, body)
	if want := l.expectedRefusal(was, action, sum); refusal != want {
		t.Fatalf("%s of %v in %s: %q; want %q", action, sum, was.Status, refusal, want)
	}
	if refusal != "" {
		return
	}
	switch action {
	case PayRent:
		l.paid.Add(l.paid, sum)
	case BearExpense:
		l.expenses.Add(l.expenses, sum)
	case Activate:
		l.started = lsStart.Get(l.record.Values)
		l.runDueRows()
	}
}

// passTime moves the clock by up to 100 days, and checks that exactly the rows of these days fall due.
func (l *leaseLife) passTime(t *rapid.T) {
	before := l.rowsDue()
	l.now += ledger.Micros(rapid.IntRange(0, 100*24).Draw(t, "hours")) * 3600 * 1_000_000
	rows := l.runDueRows()
	want := int64(0)
	if l.record.Status == Active || l.record.Status == TransferPending {
		want = min((int64(l.now.Date())-int64(l.started))/30, l.term.Int64()) - before
	}
	if int64(rows) != want {
		t.Fatalf("%d rows fell due; want %d", rows, want)
	}
}

func (l *leaseLife) rowsDue() int64 { return lsRowsDue.Get(l.record.Values) }

// body draws an action's body, and returns it with the action and the amount in the body.
func (l *leaseLife) body(t *rapid.T, name string) (Action, schema.Input, *big.Int) {
	sum := new(big.Int).Mul(l.rental, big.NewInt(int64(rapid.IntRange(1, 300).Draw(t, "times"))))
	sum.Div(sum, big.NewInt(100)).Add(sum, big.NewInt(1))
	switch name {
	case "all":
		if sum = l.largestPayment(l.record); sum.Sign() == 0 {
			sum = big.NewInt(1)
		}
		return PayRent, input("amount", amountMember(sum)), sum
	case "payment":
		return PayRent, input("amount", amountMember(sum)), sum
	case "arrears":
		if rapid.Bool().Draw(t, "clear") {
			return RecordArrears, input("amount", `"0"`), sum
		}
		return RecordArrears, input("amount", amountMember(sum)), sum
	case "expense":
		return BearExpense, input("amount", amountMember(sum), "description", `"oil"`), sum
	case "activate":
		day := l.now.Date() - ledger.Date(rapid.IntRange(0, 90).Draw(t, "delivered"))
		return Activate, input("delivery_date", `"`+day.String()+`"`), nil
	}
	return Action(name), leaseActions[Action(name)], nil
}

// largestPayment returns the largest payment that is accepted now.
func (l *leaseLife) largestPayment(r *Record) *big.Int {
	if r.Status == Active || r.Status == TransferPending {
		return new(big.Int).Sub(l.totalRent(), l.paid)
	}
	return bigOf(lsReceivable.Get(r.Values))
}

func (l *leaseLife) totalRent() *big.Int {
	return new(big.Int).Add(new(big.Int).Mul(l.rental, l.term), l.advance)
}

// expectedRefusal returns how an action must be refused according to the hand-written grids; empty if it must be accepted.
func (l *leaseLife) expectedRefusal(r *Record, name Action, sum *big.Int) string {
	row := leaseGrid[r.Status]
	kind := lsKind.Get(r.Values)
	if other, differs := financeGrid[r.Status]; differs && kind == finance {
		row = other
	}
	if other, differs := religiousGrid[r.Status]; differs && r.Reading == Religious {
		row = other
	}
	want, has := row[name]
	switch {
	case !has:
		return "409"
	case name == PayRent:
		if sum.Cmp(l.largestPayment(r)) > 0 {
			return "422 amount"
		}
		return ""
	case name == TransferAsset && kind == finance:
		if l.paid.Cmp(l.totalRent()) < 0 {
			return "422 total_rentals_paid"
		}
		return ""
	case len(want) > 3 && want[:3] == "422":
		return want
	}
	return ""
}

// partOfTerm returns the part of an amount that belongs to n of the term's periods, rounded down.
func (l *leaseLife) partOfTerm(a *big.Int, n int64) *big.Int {
	part := new(big.Int).Mul(a, big.NewInt(n))
	return part.Div(part, l.term)
}

// checkTotals checks the lease's totals against the naive ones.
func (l *leaseLife) checkTotals(t *rapid.T) {
	v := l.record.Values
	n := l.rowsDue()
	is := func(what string, got money.Signed, want *big.Int) {
		if got.String() != want.String() {
			t.Fatalf("%s of a %s lease: %v; want %v", what, l.record.Status, got, want)
		}
	}
	is("total_rentals_paid", money.Signed{Abs: lsTotalPaid.Get(v)}, l.paid)
	is("total_owner_expenses", money.Signed{Abs: lsExpenses.Get(v)}, l.expenses)
	is("E:owner_expense", l.balance("E:owner_expense"), l.expenses)
	rent := new(big.Int).Mul(l.rental, big.NewInt(n))
	is("I:rent", l.balance("I:rent"), rent.Add(rent, l.partOfTerm(l.advance, n)))
	worn := l.partOfTerm(new(big.Int).Sub(l.cost, l.residual), n)
	is("E:depreciation", l.balance("E:depreciation"), worn)
	if l.record.Status == Completed || l.record.Status == Terminated {
		if lsTransferDate.Has(v) {
			is("A:returned_assets", l.balance("A:returned_assets"), new(big.Int))
		} else {
			is("A:returned_assets", l.balance("A:returned_assets"), worn.Sub(l.cost, worn))
		}
		l.checkClosed(t)
	}
	l.checkCash(t)
	l.checkSchedule(t)
}

// checkClosed checks that an ended lease has no open account except the rent that is owed.
func (l *leaseLife) checkClosed(t *rapid.T) {
	for _, stem := range []string{"A:ijara_asset", "A:accumulated_depreciation", "L:unearned_rent", "L:prepaid_rent", "L:security_deposit", "M:arrears"} {
		if got := l.balance(l.record.account(stem)); !got.IsZero() {
			t.Fatalf("%s of a %s lease holds %v", stem, l.record.Status, got)
		}
	}
	if l.decision.Due != 0 {
		t.Fatal("something is due of a lease that has ended")
	}
	if owed := l.balance(l.record.account("A:rent_receivable")); owed.String() != lsReceivable.Get(l.record.Values).String() || lsTransferDate.Has(l.record.Values) && !owed.IsZero() {
		t.Fatalf("%v is owed", owed)
	}
}

// checkCash checks the balance of cash. The asset and its expenses are paid from it. What the lessee has paid
// is added: while the lease runs, the deposit and the rent paid so far; after the asset was taken back, the
// earned rent that is not owed any more; after it was sold, all rent and the price.
func (l *leaseLife) checkCash(t *rapid.T) {
	v := l.record.Values
	cash := new(big.Int).Neg(l.expenses)
	if lsDocuments.Has(v) {
		cash.Sub(cash, l.cost)
	}
	switch {
	case lsTransferDate.Has(v):
		cash.Add(cash, l.totalRent()).Add(cash, l.residual)
	case lsReturnDate.Has(v) || lsTerminationDate.Has(v):
		n := l.rowsDue()
		cash.Add(cash, new(big.Int).Mul(l.rental, big.NewInt(n))).Add(cash, l.partOfTerm(l.advance, n)).Sub(cash, bigOf(lsReceivable.Get(v)))
	case lsStart.Has(v):
		cash.Add(cash, l.deposit).Add(cash, l.paid)
	}
	if got := l.balance(l.record.cash()).String(); got != cash.String() {
		t.Fatalf("cash of a %s lease is %s; want %v", l.record.Status, got, cash)
	}
}

// checkSchedule checks that the rows sum to the term's rent, and that paid rows come before pending ones and
// these before cancelled ones.
func (l *leaseLife) checkSchedule(t *rapid.T) {
	schedule := lsSchedule.Get(l.record.Values)
	if schedule == nil {
		return
	}
	sum, last := new(big.Int), rowPaid
	order := map[string]int{rowPaid: 0, rowPending: 1, rowCancelled: 2}
	for i, row := range schedule {
		sum.Add(sum, bigOf(lsRowAmount.Get(row)))
		status := lsRowStatus.Get(row)
		if order[status] < order[last] || lsDueOn.Get(row) != l.started+ledger.Date(30*(i+1)) {
			t.Fatalf("row %d, %s after %s, due %v", i+1, status, last, lsDueOn.Get(row))
		}
		last = status
	}
	if sum.Cmp(new(big.Int).Mul(l.rental, l.term)) != 0 {
		t.Fatalf("the schedule sums to %v", sum)
	}
}

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

// leaseLife is a lease on which random actions are tried. It has the lease's terms and the totals that the test itself
// counts.
type leaseLife struct {
	*leaseFixture
	cost, rental, advance, deposit, residual, term *big.Int // residual is the price of the purchase option in a finance lease
	paid, expenses                                 *big.Int // sums of the payments and expenses that the lease has accepted
	startDay                                       ledger.Date
}

// The test tries actions in random order and at random times. Entries balance and the columns agree with the
// accounts (apply checks both). An action that the state does not allow is refused and changes nothing
// (tryAction checks this). The amounts earned, spent and paid agree with the lease's terms.
func TestRandomLivesOfLeases(t *testing.T) {
	endStates := map[Status]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			life := newLeaseLife(t)
			if rapid.IntRange(0, 4).Draw(t, "stays a draft") > 0 {
				for _, name := range []string{"submit", "review", "acquire", "activate"} {
					life.attempt(t, name)
					life.checkTotals(t)
				}
			}
			for range rapid.IntRange(1, 40).Draw(t, "steps") {
				life.step(t)
				life.checkTotals(t)
			}
			endStates[life.record.Status]++
		}
	})
	t.Log(endStates)
	for _, state := range leaseStates {
		if endStates[state] == 0 {
			t.Errorf("no life ended %s: the random actions cover too little", state)
		}
	}
}

func newLeaseLife(t *rapid.T) *leaseLife {
	zeros := rapid.SampledFrom([]string{"", "", "000000", "00000000000000000000000000000000000000000000000000000000000000000"}).Draw(t, "size")
	draw := func(low, high int, name string) *big.Int {
		n, _ := new(big.Int).SetString(strconv.Itoa(rapid.IntRange(low, high).Draw(t, name))+zeros, 10)
		return n
	}
	life := &leaseLife{cost: draw(1, 5000, "cost"), rental: draw(1, 300, "rental"), advance: new(big.Int), deposit: new(big.Int), residual: new(big.Int),
		term: big.NewInt(int64(rapid.IntRange(1, 12).Draw(t, "term"))), paid: new(big.Int), expenses: new(big.Int)}
	if rapid.Bool().Draw(t, "advances") {
		life.advance = draw(1, 500, "advance")
	}
	if rapid.Bool().Draw(t, "deposits") {
		life.deposit = draw(1, 500, "deposit")
	}
	body := leaseBody("asset_cost", amountMember(life.cost), "monthly_rental", amountMember(life.rental), "lease_term_months", life.term.String(),
		"advance_rental", amountMember(life.advance), "security_deposit", amountMember(life.deposit), "residual_value", "")
	field := "residual_value"
	if rapid.Bool().Draw(t, "finance") {
		body["lease_type"], field = []byte(`"finance"`), "purchase_option_price"
		life.residual.SetInt64(1)
	}
	if endValue := draw(1, 5000, "left"); endValue.Cmp(life.cost) <= 0 {
		life.residual = endValue
	}
	if body[field] = []byte(amountMember(life.residual)); life.residual.Sign() == 0 {
		delete(body, field)
	}
	life.leaseFixture = newLease(t, rapid.SampledFrom(Readings).Draw(t, "reading"), body)
	return life
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

// step lets time pass or tries an action. It often tries actions that continue the lease, and seldom actions
// that end it.
func (life *leaseLife) step(t *rapid.T) {
	name := rapid.SampledFrom([]string{
		"time", "time", "time", "acquire", "activate", "payment", "payment", "payment", "all", "arrears", "expense",
		"submit", "review", "reject", "return", "transfer_pending", "transfer", "transfer", "terminate",
	}).Draw(t, "what")
	seldom := []string{"submit", "reject", "return", "terminate", "transfer_pending"}
	if slices.Contains(seldom, name) && rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
		name = "time"
	}
	if name == "time" {
		life.passTime(t)
		return
	}
	life.attempt(t, name)
}

// attempt tries an action, and compares its result with the grid.
func (life *leaseLife) attempt(t *rapid.T, name string) {
	action, body, sum := life.drawBody(t, name)
	before := life.record
	refusal := life.tryAction(action, body)
	if want := life.expectedRefusal(before, action, sum); refusal != want {
		t.Fatalf("%s of %v in %s: %q; want %q", action, sum, before.Status, refusal, want)
	}
	if refusal != "" {
		return
	}
	switch action {
	case PayRent:
		life.paid.Add(life.paid, sum)
	case BearExpense:
		life.expenses.Add(life.expenses, sum)
	case Activate:
		life.startDay = lsStart.Get(life.record.Values)
		life.runDueRows()
	}
}

// passTime moves the clock by up to 100 days, and checks that exactly the rows of these days fall due.
func (life *leaseLife) passTime(t *rapid.T) {
	before := life.rowsDue()
	life.now += ledger.Micros(rapid.IntRange(0, 100*24).Draw(t, "hours")) * 3600 * 1_000_000
	rows := life.runDueRows()
	want := int64(0)
	if life.record.Status == Active || life.record.Status == TransferPending {
		want = min((int64(life.now.Date())-int64(life.startDay))/30, life.term.Int64()) - before
	}
	if int64(rows) != want {
		t.Fatalf("%d rows fell due; want %d", rows, want)
	}
}

func (life *leaseLife) rowsDue() int64 { return lsRowsDue.Get(life.record.Values) }

// drawBody draws an action's body, and returns it with the action and the amount in the body.
func (life *leaseLife) drawBody(t *rapid.T, name string) (Action, schema.Input, *big.Int) {
	sum := new(big.Int).Mul(life.rental, big.NewInt(int64(rapid.IntRange(1, 300).Draw(t, "times"))))
	sum.Div(sum, big.NewInt(100)).Add(sum, big.NewInt(1))
	switch name {
	case "all":
		if sum = life.largestPayment(life.record); sum.Sign() == 0 {
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
		day := life.now.Date() - ledger.Date(rapid.IntRange(0, 90).Draw(t, "delivered"))
		return Activate, input("delivery_date", `"`+day.String()+`"`), nil
	}
	return Action(name), leaseActions[Action(name)], nil
}

// largestPayment returns the largest payment that is accepted now.
func (life *leaseLife) largestPayment(r *Record) *big.Int {
	if r.Status == Active || r.Status == TransferPending {
		return new(big.Int).Sub(life.totalRent(), life.paid)
	}
	return bigOf(lsReceivable.Get(r.Values))
}

func (life *leaseLife) totalRent() *big.Int {
	return new(big.Int).Add(new(big.Int).Mul(life.rental, life.term), life.advance)
}

// expectedRefusal returns the refusal of an action according to the hand-written grids, in the form of tryAction; empty if
// the action must be accepted.
func (life *leaseLife) expectedRefusal(r *Record, name Action, sum *big.Int) string {
	row := leaseGrid[r.Status]
	kind := lsKind.Get(r.Values)
	if specialRow, differs := financeGrid[r.Status]; differs && kind == finance {
		row = specialRow
	}
	if specialRow, differs := religiousGrid[r.Status]; differs && r.Reading == Religious {
		row = specialRow
	}
	want, legal := row[name]
	switch {
	case !legal:
		return "409"
	case name == PayRent:
		if sum.Cmp(life.largestPayment(r)) > 0 {
			return "422 amount"
		}
		return ""
	case name == TransferAsset && kind == finance:
		if life.paid.Cmp(life.totalRent()) < 0 {
			return "422 total_rentals_paid"
		}
		return ""
	case len(want) > 3 && want[:3] == "422":
		return want
	}
	return ""
}

// partOfTerm returns the part of an amount that belongs to n of the term's periods, rounded down.
func (life *leaseLife) partOfTerm(a *big.Int, n int64) *big.Int {
	part := new(big.Int).Mul(a, big.NewInt(n))
	return part.Div(part, life.term)
}

// checkTotals checks the lease's totals against those that the test has counted.
func (life *leaseLife) checkTotals(t *rapid.T) {
	v := life.record.Values
	rowsDue := life.rowsDue()
	wantAmount := func(total string, got money.Signed, want *big.Int) {
		if got.String() != want.String() {
			t.Fatalf("%s of a %s lease: %v; want %v", total, life.record.Status, got, want)
		}
	}
	wantAmount("total_rentals_paid", money.Signed{Abs: lsTotalPaid.Get(v)}, life.paid)
	wantAmount("total_owner_expenses", money.Signed{Abs: lsTotalExpenses.Get(v)}, life.expenses)
	wantAmount("E:owner_expense", life.balance("E:owner_expense"), life.expenses)
	rent := new(big.Int).Mul(life.rental, big.NewInt(rowsDue))
	wantAmount("I:rent", life.balance("I:rent"), rent.Add(rent, life.partOfTerm(life.advance, rowsDue)))
	depreciation := life.partOfTerm(new(big.Int).Sub(life.cost, life.residual), rowsDue)
	wantAmount("E:depreciation", life.balance("E:depreciation"), depreciation)
	if life.record.Status == Completed || life.record.Status == Terminated {
		if lsTransferDate.Has(v) {
			wantAmount("A:returned_assets", life.balance("A:returned_assets"), new(big.Int))
		} else {
			wantAmount("A:returned_assets", life.balance("A:returned_assets"), depreciation.Sub(life.cost, depreciation))
		}
		life.checkClosed(t)
	}
	life.checkCash(t)
	life.checkSchedule(t)
}

// checkClosed checks that an ended lease has no open account except the rent that is owed.
func (life *leaseLife) checkClosed(t *rapid.T) {
	for _, stem := range []string{"A:ijara_asset", "A:accumulated_depreciation", "L:unearned_rent", "L:prepaid_rent", "L:security_deposit", "M:arrears"} {
		if got := life.balance(life.record.account(stem)); !got.IsZero() {
			t.Fatalf("%s of a %s lease holds %v", stem, life.record.Status, got)
		}
	}
	if life.decision.Due != 0 {
		t.Fatal("a lease that has ended has a timer")
	}
	if owed := life.balance(life.record.account("A:rent_receivable")); owed.String() != lsReceivable.Get(life.record.Values).String() || lsTransferDate.Has(life.record.Values) && !owed.IsZero() {
		t.Fatalf("%v is owed", owed)
	}
}

// checkCash checks the balance of the cash account, from which the asset and its expenses are paid. A running lease has
// brought in the deposit and the rent paid so far. If the asset was taken back, the lease has brought in the earned rent that
// is no longer owed. If the asset was sold, the lease has brought in all rent and the price.
func (life *leaseLife) checkCash(t *rapid.T) {
	v := life.record.Values
	cash := new(big.Int).Neg(life.expenses)
	if lsDocuments.Has(v) {
		cash.Sub(cash, life.cost)
	}
	switch {
	case lsTransferDate.Has(v):
		cash.Add(cash, life.totalRent()).Add(cash, life.residual)
	case lsReturnDate.Has(v) || lsTerminationDate.Has(v):
		n := life.rowsDue()
		cash.Add(cash, new(big.Int).Mul(life.rental, big.NewInt(n))).Add(cash, life.partOfTerm(life.advance, n)).Sub(cash, bigOf(lsReceivable.Get(v)))
	case lsStart.Has(v):
		cash.Add(cash, life.deposit).Add(cash, life.paid)
	}
	if got := life.balance(life.record.cash()).String(); got != cash.String() {
		t.Fatalf("cash of a %s lease is %s; want %v", life.record.Status, got, cash)
	}
}

// checkSchedule checks that the rows sum to the term's rent, and that paid rows come first, then
// pending rows, then cancelled ones.
func (life *leaseLife) checkSchedule(t *rapid.T) {
	schedule := lsSchedule.Get(life.record.Values)
	if schedule == nil {
		return
	}
	sum, previous := new(big.Int), rowPaid
	order := map[string]int{rowPaid: 0, rowPending: 1, rowCancelled: 2}
	for i, row := range schedule {
		sum.Add(sum, bigOf(lsRowAmount.Get(row)))
		status := lsRowStatus.Get(row)
		if order[status] < order[previous] || lsDueOn.Get(row) != life.startDay+ledger.Date(30*(i+1)) {
			t.Fatalf("row %d, %s after %s, due %v", i+1, status, previous, lsDueOn.Get(row))
		}
		previous = status
	}
	if sum.Cmp(new(big.Int).Mul(life.rental, life.term)) != 0 {
		t.Fatalf("the schedule sums to %v", sum)
	}
}

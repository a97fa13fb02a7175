package contract

import (
	"bytes"
	"math/big"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"mizan/ledger"
)

// naiveDeposit is a second, naive implementation of deposits. The tests compare the package with it.
type naiveDeposit struct {
	status                                                  Status
	principal, value, customerProfit, bankProfit, totalLoss *big.Int
	bankPercent, penaltyPercent                             int64
	allowsEarly, autoRenews                                 bool
	today, maturity                                         ledger.Date
	term, renewals, distributions                           int64
}

// The test tries random actions at random times. The entries of an accepted action balance, and the columns agree
// with the accounts. A refused action changes nothing, deposits with automatic renewal renew on their dates,
// and the accounts of an ended deposit are empty.
func TestRandomLivesOfDeposits(t *testing.T) {
	useSeed(t)
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			checkDepositLife(t)
		}
	})
}

// checkDepositLife tries random actions on a new deposit, and after each compares the deposit with a naive one.
func checkDepositLife(t *rapid.T) {
	org := newOrgFixture(t, "2026-01-10")
	naive := &naiveDeposit{status: Pending, principal: drawSum(t, "principal"), value: new(big.Int), customerProfit: new(big.Int), bankProfit: new(big.Int), totalLoss: new(big.Int)}
	naive.bankPercent, naive.penaltyPercent = rapid.Int64Range(0, 100).Draw(t, "bank"), rapid.Int64Range(0, 100).Draw(t, "penalty")
	naive.allowsEarly, naive.autoRenews = rapid.Bool().Draw(t, "early"), rapid.Bool().Draw(t, "renews")
	naive.term = rapid.Int64Range(1, 3).Draw(t, "term")
	ratio := `{"bank":` + strconv.FormatInt(naive.bankPercent, 10) + `,"customer":` + strconv.FormatInt(100-naive.bankPercent, 10) + `}`
	r := org.open(Deposit, Secular, withChanges(depositBody, "initial_amount", quoteBig(naive.principal), "profit_sharing_ratio", ratio,
		"early_withdrawal_penalty_percent", strconv.FormatInt(naive.penaltyPercent, 10), "term_months", strconv.FormatInt(naive.term, 10),
		"early_withdrawal_allowed", strconv.FormatBool(naive.allowsEarly), "auto_renewal", strconv.FormatBool(naive.autoRenews)))
	for range rapid.IntRange(1, 16).Draw(t, "steps") {
		org.passDays(rapid.SampledFrom([]int{0, 0, 1, 30, 100}).Draw(t, "days"))
		naive.today = org.now.Date()
		r = org.runTimers(r, naive.runTimers())
		naive.compare(t, org, r)
		r = naive.step(t, org, r)
		r = org.runTimers(r, naive.runTimers()) // the step may have made a renewal due
		naive.compare(t, org, r)
	}
}

// runTimers runs the due timers of the naive deposit, and returns their number.
func (naive *naiveDeposit) runTimers() (n int) {
	for naive.autoRenews {
		switch {
		case naive.status == Active && naive.today >= naive.maturity:
			naive.status = Matured
		case naive.status == Matured && naive.value.Sign() > 0:
			naive.renew(naive.maturity)
		default:
			return n
		}
		n++
	}
	return n
}

func (naive *naiveDeposit) renew(start ledger.Date) {
	naive.status, naive.maturity = Active, start+ledger.Date(30*naive.term)
	naive.principal.Set(naive.value)
	naive.customerProfit, naive.bankProfit, naive.totalLoss = new(big.Int), new(big.Int), new(big.Int)
	naive.renewals++
}

// step tries a random action. If the deposit accepts the action, step carries it out on the naive deposit too.
func (naive *naiveDeposit) step(t *rapid.T, org *orgFixture, r *Record) *Record {
	name := rapid.SampledFrom([]Action{Activate, Activate, Profit, Profit, Profit, Loss, Mature, Renew, Withdraw, Close}).Draw(t, "action")
	sum := drawSum(t, "sum")
	request := input("closed_by", `"Amina"`, "gross_profit", quoteBig(sum), "amount", quoteBig(sum))
	legal := map[Action]bool{
		Activate: naive.status == Pending, Profit: naive.status == Active, Loss: naive.status == Active, Mature: naive.status == Active,
		Renew: naive.status == Matured, Withdraw: naive.status == Active, Close: naive.status == Matured || naive.status == Withdrawn,
	}[name]
	if !legal {
		org.wantConflict(r, name, request)
		return r
	}
	if field := naive.unmetField(name, sum); field != "" {
		org.wantRefused(r, name, request, field)
		return r
	}
	before := AppendRecord(nil, r)
	next := org.act(r, name, request)
	if !bytes.Equal(before, AppendRecord(nil, r)) {
		t.Fatalf("%s has changed the record before the decision", name)
	}
	naive.do(name, sum)
	return next
}

// unmetField returns the field with which the action must be refused because a condition is not met; "" if all conditions are
// met.
func (naive *naiveDeposit) unmetField(name Action, sum *big.Int) string {
	bankShare := percentOf(sum, naive.bankPercent)
	customerProfit := new(big.Int).Sub(sum, bankShare)
	switch name {
	case Profit:
		for _, total := range [][2]*big.Int{{naive.value, customerProfit}, {naive.customerProfit, customerProfit}, {naive.bankProfit, bankShare}} {
			if new(big.Int).Add(total[0], total[1]).Cmp(largestSum) > 0 {
				return "gross_profit"
			}
		}
	case Loss:
		if naive.value.Sign() == 0 {
			return "amount"
		}
	case Mature:
		if naive.today < naive.maturity {
			return "maturity_date"
		}
	case Renew:
		if naive.value.Sign() == 0 {
			return "current_value"
		}
	case Withdraw:
		if !naive.allowsEarly {
			return "early_withdrawal_allowed"
		}
	}
	return ""
}

func (naive *naiveDeposit) do(name Action, sum *big.Int) {
	switch name {
	case Activate:
		naive.status, naive.maturity = Active, naive.today+ledger.Date(30*naive.term)
		naive.value.Set(naive.principal)
	case Profit:
		bankShare := percentOf(sum, naive.bankPercent)
		customerProfit := new(big.Int).Sub(sum, bankShare)
		naive.value.Add(naive.value, customerProfit)
		naive.customerProfit.Add(naive.customerProfit, customerProfit)
		naive.bankProfit.Add(naive.bankProfit, bankShare)
		naive.distributions++
	case Loss:
		if sum.Cmp(naive.value) > 0 {
			sum = new(big.Int).Set(naive.value)
		}
		naive.value.Sub(naive.value, sum)
		naive.totalLoss.Add(naive.totalLoss, sum)
	case Mature:
		naive.status = Matured
	case Renew:
		naive.renew(naive.today)
	case Withdraw:
		naive.status = Withdrawn
		if naive.value.Sub(naive.value, percentOf(naive.customerProfit, naive.penaltyPercent)); naive.value.Sign() < 0 {
			naive.value.SetInt64(0)
		}
	case Close:
		naive.status = Closed
	}
}

func (naive *naiveDeposit) compare(t *rapid.T, org *orgFixture, r *Record) {
	if r.Status != naive.status || dpRenewals.Get(r.Values) != naive.renewals || naive.status == Active && dpMaturity.Get(r.Values) != naive.maturity {
		t.Fatalf("the deposit is %s, renewed %d times, until %v; want %s, %d, %v",
			r.Status, dpRenewals.Get(r.Values), dpMaturity.Get(r.Values), naive.status, naive.renewals, naive.maturity)
	}
	wantSum(t, r, dpPrincipal, naive.principal)
	wantSum(t, r, dpValue, naive.value)
	wantSum(t, r, dpCustomerProfit, naive.customerProfit)
	wantSum(t, r, dpBankProfit, naive.bankProfit)
	if got := int64(len(dpDistributions.Get(r.Values))); got != naive.distributions {
		t.Fatalf("%d distributions, want %d", got, naive.distributions)
	}
	if naive.status == Withdrawn || naive.status == Closed {
		for _, stem := range []string{"Q:capital", "Q:profit", "Q:loss"} {
			if held := org.balance(r.account(stem)); !held.IsZero() {
				t.Fatalf("%s of a deposit that is %s holds %v", stem, naive.status, held)
			}
		}
		if owed := org.balance(currentAccount(dpCustomer.Get(r.Values))).String(); owed != naive.value.String() {
			t.Fatalf("the depositor is owed %s of %v", owed, naive.value)
		}
	}
}

package contract

import (
	"bytes"
	"math/big"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"mizan/ledger"
)

// naiveDeposit is a naive second implementation of deposits, which the first must agree with.
type naiveDeposit struct {
	status                                                  Status
	principal, value, customerProfit, bankProfit, totalLoss *big.Int
	bankPercent, penaltyPercent                             int64
	early, renews                                           bool
	today, maturity                                         ledger.Date
	term, renewals, distributions                           int64
}

// Random actions are tried at random times. The entries of an accepted action balance and the columns agree
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

func checkDepositLife(t *rapid.T) {
	org := newOrgFixture(t, "2026-01-10")
	p := &naiveDeposit{status: Pending, principal: drawSum(t, "principal"), value: new(big.Int), customerProfit: new(big.Int), bankProfit: new(big.Int), totalLoss: new(big.Int)}
	p.bankPercent, p.penaltyPercent = rapid.Int64Range(0, 100).Draw(t, "bank"), rapid.Int64Range(0, 100).Draw(t, "penalty")
	p.early, p.renews = rapid.Bool().Draw(t, "early"), rapid.Bool().Draw(t, "renews")
	p.term = rapid.Int64Range(1, 3).Draw(t, "term")
	ratio := `{"bank":` + strconv.FormatInt(p.bankPercent, 10) + `,"customer":` + strconv.FormatInt(100-p.bankPercent, 10) + `}`
	r := org.open(Deposit, Secular, withChanges(depositBody, "initial_amount", quoteBig(p.principal), "profit_sharing_ratio", ratio,
		"early_withdrawal_penalty_percent", strconv.FormatInt(p.penaltyPercent, 10), "term_months", strconv.FormatInt(p.term, 10),
		"early_withdrawal_allowed", strconv.FormatBool(p.early), "auto_renewal", strconv.FormatBool(p.renews)))
	for range rapid.IntRange(1, 16).Draw(t, "steps") {
		org.passDays(rapid.SampledFrom([]int{0, 0, 1, 30, 100}).Draw(t, "days"))
		p.today = org.now.Date()
		r = org.runTimers(r, p.runTimers())
		p.compare(t, org, r)
		r = p.step(t, org, r)
		r = org.runTimers(r, p.runTimers()) // the step may have made a renewal due
		p.compare(t, org, r)
	}
}

// runTimers runs the due timers of the naive deposit, and returns their number.
func (p *naiveDeposit) runTimers() (n int) {
	for p.renews {
		switch {
		case p.status == Active && p.today >= p.maturity:
			p.status = Matured
		case p.status == Matured && p.value.Sign() > 0:
			p.renew(p.maturity)
		default:
			return n
		}
		n++
	}
	return n
}

func (p *naiveDeposit) renew(from ledger.Date) {
	p.status, p.maturity = Active, from+ledger.Date(30*p.term)
	p.principal.Set(p.value)
	p.customerProfit, p.bankProfit, p.totalLoss = new(big.Int), new(big.Int), new(big.Int)
	p.renewals++
}

// step tries any action, and repeats it in the naive deposit.
func (p *naiveDeposit) step(t *rapid.T, org *orgFixture, r *Record) *Record {
	name := rapid.SampledFrom([]Action{Activate, Activate, Profit, Profit, Profit, Loss, Mature, Renew, Withdraw, Close}).Draw(t, "action")
	sum := drawSum(t, "sum")
	sent := input("closed_by", `"Amina"`, "gross_profit", quoteBig(sum), "amount", quoteBig(sum))
	legal := map[Action]bool{
		Activate: p.status == Pending, Profit: p.status == Active, Loss: p.status == Active, Mature: p.status == Active,
		Renew: p.status == Matured, Withdraw: p.status == Active, Close: p.status == Matured || p.status == Withdrawn,
	}[name]
	if !legal {
		org.wantConflict(r, name, sent)
		return r
	}
	if field := p.unmet(name, sum); field != "" {
		org.wantRefused(r, name, sent, field)
		return r
	}
	before := AppendRecord(nil, r)
	next := org.act(r, name, sent)
	if !bytes.Equal(before, AppendRecord(nil, r)) {
		t.Fatalf("%s has changed the record that was decided on", name)
	}
	p.do(name, sum)
	return next
}

// unmet returns the unmet condition of an action; "" if all are met.
func (p *naiveDeposit) unmet(name Action, sum *big.Int) string {
	bankShare := percentOf(sum, p.bankPercent)
	customerProfit := new(big.Int).Sub(sum, bankShare)
	switch name {
	case Profit:
		for _, total := range [][2]*big.Int{{p.value, customerProfit}, {p.customerProfit, customerProfit}, {p.bankProfit, bankShare}} {
			if new(big.Int).Add(total[0], total[1]).Cmp(limit) > 0 {
				return "gross_profit"
			}
		}
	case Loss:
		if p.value.Sign() == 0 {
			return "amount"
		}
	case Mature:
		if p.today < p.maturity {
			return "maturity_date"
		}
	case Renew:
		if p.value.Sign() == 0 {
			return "current_value"
		}
	case Withdraw:
		if !p.early {
			return "early_withdrawal_allowed"
		}
	}
	return ""
}

func (p *naiveDeposit) do(name Action, sum *big.Int) {
	switch name {
	case Activate:
		p.status, p.maturity = Active, p.today+ledger.Date(30*p.term)
		p.value.Set(p.principal)
	case Profit:
		bank := percentOf(sum, p.bankPercent)
		customerProfit := new(big.Int).Sub(sum, bank)
		p.value.Add(p.value, customerProfit)
		p.customerProfit.Add(p.customerProfit, customerProfit)
		p.bankProfit.Add(p.bankProfit, bank)
		p.distributions++
	case Loss:
		if sum.Cmp(p.value) > 0 {
			sum = new(big.Int).Set(p.value)
		}
		p.value.Sub(p.value, sum)
		p.totalLoss.Add(p.totalLoss, sum)
	case Mature:
		p.status = Matured
	case Renew:
		p.renew(p.today)
	case Withdraw:
		p.status = Withdrawn
		if p.value.Sub(p.value, percentOf(p.customerProfit, p.penaltyPercent)); p.value.Sign() < 0 {
			p.value.SetInt64(0)
		}
	case Close:
		p.status = Closed
	}
}

func (p *naiveDeposit) compare(t *rapid.T, org *orgFixture, r *Record) {
	if r.Status != p.status || dpRenewals.Get(r.Values) != p.renewals || p.status == Active && dpMaturity.Get(r.Values) != p.maturity {
		t.Fatalf("the deposit is %s, renewed %d times, until %v; want %s, %d, %v",
			r.Status, dpRenewals.Get(r.Values), dpMaturity.Get(r.Values), p.status, p.renewals, p.maturity)
	}
	wantSum(t, r, dpPrincipal, p.principal)
	wantSum(t, r, dpValue, p.value)
	wantSum(t, r, dpCustomerProfit, p.customerProfit)
	wantSum(t, r, dpBankProfit, p.bankProfit)
	if got := int64(len(dpDistributions.Get(r.Values))); got != p.distributions {
		t.Fatalf("%d distributions, want %d", got, p.distributions)
	}
	if p.status == Withdrawn || p.status == Closed {
		for _, stem := range []string{"Q:capital", "Q:profit", "Q:loss"} {
			if held := org.balance(r.account(stem)); !held.IsZero() {
				t.Fatalf("%s of a deposit that is %s holds %v", stem, p.status, held)
			}
		}
		if owed := org.balance(currentAccount(dpCustomer.Get(r.Values))).String(); owed != p.value.String() {
			t.Fatalf("the depositor is owed %s of %v", owed, p.value)
		}
	}
}

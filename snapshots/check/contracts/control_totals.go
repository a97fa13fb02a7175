package contracts

import (
	"math/big"
	"slices"
	"strings"

	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/snapshots/check/scan"
)

// Rule 3, control totals. Some columns of a contract hold the sum of what the contract has put
// on an account that contracts share. Each such sum is equal to the sum of the contract's
// entries.

// ControlTotal is the sum of a contract's entries on an account that contracts share. The
// contract has no balance of its own on that account, but it has a column with the sum.
type ControlTotal struct {
	Account ledger.Path
	Side    ledger.Side
	Column  string
	Of      string // column of the column's rows to add up; empty: Column is itself an amount
}

// Payments of all kinds post to cash. These pseudo-accounts stand for the part that income
// distributions and rent payments have posted there.
const (
	cashOfProfit  = ledger.Path("A:cash:profit")
	cashOfPayment = ledger.Path("A:cash:payment")
)

// ControlTotals is copied by hand: POSTINGS' tables, and the columns in which the specification
// has the sums.
var ControlTotals = map[*contract.Product][]ControlTotal{
	contract.Certificate: {{cashOfProfit, ledger.Debit, "total_profit_distributed", ""}},
	contract.Partnership: {
		{cashOfProfit, ledger.Debit, "bank_profit_share", ""}, {"I:musharaka", ledger.Credit, "bank_profit_share", ""},
		{"I:musharaka_rent", ledger.Credit, "rental_paid_total", ""},
	},
	contract.Lease:          {{cashOfPayment, ledger.Debit, "total_rentals_paid", ""}, {"E:owner_expense", ledger.Debit, "total_owner_expenses", ""}},
	contract.Managed:        {{"I:mudaraba", ledger.Credit, "bank_profit_share", ""}, {"E:mudaraba_loss", ledger.Debit, "total_loss", ""}},
	contract.Deposit:        {{"I:mudarib_share", ledger.Credit, "profit_distributions", "bank_share"}},
	contract.InstalmentSale: {{"I:murabaha", ledger.Credit, "profit_recognised", ""}},
	contract.Safekeeping:    {{"E:hibah", ledger.Debit, "hibah_total", ""}},
}

// controlAccounts are the accounts of all control totals.
var controlAccounts = func() map[ledger.Path]bool {
	all := make(map[ledger.Path]bool)
	for _, list := range ControlTotals {
		for _, t := range list {
			all[t.Account] = true
		}
	}
	return all
}()

const cashHead = "A:cash:"

// controlAccount returns the account of the control total to which a line of an entry adds;
// empty if there is none.
func (l *Lifecycle) controlAccount(path ledger.Path) ledger.Path {
	switch cash := strings.HasPrefix(string(path), cashHead); {
	case cash && l.LastAction == contract.Profit:
		return cashOfProfit
	case cash && l.LastAction == contract.PayRent:
		return cashOfPayment
	case !cash && controlAccounts[path]:
		return path
	}
	return ""
}

// AddControlTotals adds an entry to the sums of the contract on shared accounts.
func (l *Lifecycle) AddControlTotals(h *scan.Histories, postings []ledger.Posting) {
	for _, p := range postings {
		if p.Account = l.controlAccount(p.Account); p.Account != "" {
			l.Shared = l.Shared.Plus(h.Fingerprint([]ledger.Posting{p}))
		}
	}
}

// checkControlTotals compares the sums of a contract's entries on shared accounts with the
// contract's columns.
func (c *Check) checkControlTotals(r *scan.Record, p *contract.Record, l *Lifecycle) {
	var lines []scan.Line
	for _, t := range ControlTotals[p.Product] {
		sum := t.sum(p)
		if t.Side == ledger.Debit {
			lines = append(lines, scan.Debit(t.Account, p.Asset, sum))
		} else {
			lines = append(lines, scan.Credit(t.Account, p.Asset, sum))
		}
	}
	if l.Shared != r.Organization.Histories.ExpectedFingerprint(lines) {
		c.Fault(r, "says other sums than its entries have moved")
	}
}

// sum returns the sum in the contract's column.
func (t *ControlTotal) sum(p *contract.Record) *big.Int {
	column := columnNamed(p.Product.Columns, t.Column)
	if t.Of == "" {
		amount, _ := column.Value(p.Values).(money.Amount)
		return scan.BigAmount(amount)
	}
	of, sum := columnNamed(column.Of, t.Of), new(big.Int)
	rows, _ := column.Value(p.Values).([]schema.Row)
	for _, row := range rows {
		amount, _ := of.Value(row).(money.Amount)
		sum.Add(sum, scan.BigAmount(amount))
	}
	return sum
}

// columnNamed returns a column of the table, which must exist.
func columnNamed(table *schema.Table, name string) *schema.Column {
	return table.Columns[slices.IndexFunc(table.Columns, func(c *schema.Column) bool { return c.Name == name })]
}

package contracts

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/snapshots/check/scan"
)

// Rule 3, control totals. Some columns of a contract hold the sum of what the contract has posted
// on an account that contracts share. Each such column is equal to the sum of the contract's
// entries on that account.

// controlTotal says which column of a contract has the sum of the contract's entries on an account that
// contracts share.
type controlTotal struct {
	Account   ledger.Path
	Side      ledger.Side
	Column    string
	RowColumn string // if Column is a list of rows, the column of those rows to add up; empty: Column is itself an amount
}

// Payments of all kinds post to cash. These pseudo-accounts stand for the part that income
// distributions and rent payments have posted there.
const (
	cashOfProfit  = ledger.Path("A:cash:profit")
	cashOfPayment = ledger.Path("A:cash:payment")
)

// controlTotals is copied by hand from POSTINGS' tables and from the specification, which names the
// columns that have the sums.
var controlTotals = map[*contract.Product][]controlTotal{
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
	for _, list := range controlTotals {
		for _, t := range list {
			all[t.Account] = true
		}
	}
	return all
}()

const cashHead = "A:cash:"

// controlAccount returns the account of the control total that a line on the path changes; empty if the
// line changes none.
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

// addControlTotals adds an entry to the contract's sums on shared accounts.
func (l *Lifecycle) addControlTotals(h *scan.Histories, postings []ledger.Posting) {
	for _, p := range postings {
		if p.Account = l.controlAccount(p.Account); p.Account != "" {
			l.Shared = l.Shared.Plus(h.Fingerprint([]ledger.Posting{p}))
		}
	}
}

// checkControlTotals compares the sums of a contract's entries on shared accounts with the
// contract's columns.
func (c *Check) checkControlTotals(r *scan.Record, p *contract.Record, l *Lifecycle) {
	h := r.Organization.Histories
	if l.Shared != totals(h, p.Product, p.Asset, func(t *controlTotal) *big.Int { return t.sum(p) }) {
		c.Fault(r, "says other sums than its entries have moved")
	}
}

// totals returns the fingerprint of a product's control totals with the given sums.
func totals(h *scan.Histories, p *contract.Product, asset money.Asset, sum func(*controlTotal) *big.Int) scan.Fingerprint {
	var lines []scan.Line
	for i := range controlTotals[p] {
		t := &controlTotals[p][i]
		if t.Side == ledger.Debit {
			lines = append(lines, scan.Debit(t.Account, asset, sum(t)))
		} else {
			lines = append(lines, scan.Credit(t.Account, asset, sum(t)))
		}
	}
	return h.ExpectedFingerprint(lines)
}

// ShownTotals returns the fingerprint of a product's control totals in the columns of a response.
func ShownTotals(h *scan.Histories, p *contract.Product, response []byte) scan.Fingerprint {
	var shown map[string]json.RawMessage
	if json.Unmarshal(response, &shown) != nil {
		shown = nil // the response shows no contract, which is reported
	}
	env, _ := money.ParseEnv(textOf(shown["env"])) // a wrong environment gives a wrong fingerprint, so it is reported too
	asset := money.Asset{Currency: money.Currency(textOf(shown["currency"])), Env: env}
	return totals(h, p, asset, func(t *controlTotal) *big.Int {
		var rows []map[string]json.RawMessage
		if t.RowColumn == "" {
			return shownAmount(shown[t.Column])
		}
		if json.Unmarshal(shown[t.Column], &rows) != nil {
			rows = nil // the column has no rows
		}
		sum := new(big.Int)
		for _, row := range rows {
			sum.Add(sum, shownAmount(row[t.RowColumn]))
		}
		return sum
	})
}

// shownAmount parses an amount, which is a string in one family of paths and an integer in the other. An
// absent amount is zero. A value that is not an amount becomes -1, which equals no amount.
func shownAmount(v json.RawMessage) *big.Int {
	text := textOf(v)
	if text == "" || text == "null" {
		return new(big.Int)
	}
	amount, err := money.Parse(text)
	if err != nil {
		return big.NewInt(-1)
	}
	return scan.BigAmount(amount)
}

// textOf returns the text of a JSON string, and the JSON form of any other value.
func textOf(v json.RawMessage) (text string) {
	if json.Unmarshal(v, &text) != nil {
		return string(v)
	}
	return text
}

// sum returns the sum in the contract's column.
func (t *controlTotal) sum(p *contract.Record) *big.Int {
	column := columnNamed(p.Product.Columns, t.Column)
	if t.RowColumn == "" {
		amount, _ := column.Value(p.Values).(money.Amount)
		return scan.BigAmount(amount)
	}
	of, sum := columnNamed(column.Of, t.RowColumn), new(big.Int)
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

package contracts

import (
	"encoding/json"
	"math/big"
	"strings"

	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks control totals. A control total
// (contract.ControlTotal) is a column of a contract that holds the sum of the contract's postings on an account that
// contracts share. Each such column is equal to the sum of the contract's entries on that account.

// countedLines are the lines on an account that a control total adds up: the lines of all actions, or of one action.
type countedLines struct {
	account ledger.Path
	action  contract.Action
}

func linesOf(t *contract.ControlTotal) countedLines { return countedLines{t.Account, t.By} }

// path returns the account path under which fingerprints count the lines. If only the lines of one action count, the path is
// that of a pseudo-account.
func (k countedLines) path() ledger.Path {
	if k.action == "" {
		return k.account
	}
	return k.account + ":" + ledger.Path(k.action)
}

// countedByAny are the lines that control totals of any product count. An event does not name its
// product, so the sums of each contract include all such lines.
var countedByAny = func() map[countedLines]bool {
	all := make(map[countedLines]bool)
	for _, p := range contract.Products {
		for i := range p.Totals {
			all[linesOf(&p.Totals[i])] = true
		}
	}
	return all
}()

// addControlTotals adds an entry to the contract's sums on shared accounts.
func (l *Lifecycle) addControlTotals(h *scan.Histories, postings []ledger.Posting) {
	add := func(p ledger.Posting, lines countedLines) {
		if countedByAny[lines] {
			p.Account = lines.path()
			l.SharedSum = l.SharedSum.Plus(h.Fingerprint([]ledger.Posting{p}))
		}
	}
	for _, p := range postings {
		account := p.Account
		if strings.HasPrefix(string(account), string(contract.Cash)+":") {
			account = contract.Cash
		}
		add(p, countedLines{account: account})
		if l.LastAction != "" {
			add(p, countedLines{account, l.LastAction})
		}
	}
}

// checkControlTotals compares the sums of a contract's entries on shared accounts with the
// contract's columns.
func (c *Check) checkControlTotals(r *scan.Record, p *contract.Record, l *Lifecycle) {
	h := r.Organization.Histories
	if l.SharedSum != totalsFingerprint(h, p.Product, p.Asset, func(t *contract.ControlTotal) *big.Int { return storedSum(t, p) }) {
		c.Fault(r, "says other sums than its entries have moved")
	}
}

// totalsFingerprint returns the fingerprint of a product's control totals; sum returns the value of one of them.
func totalsFingerprint(h *scan.Histories, p *contract.Product, asset money.Asset, sum func(*contract.ControlTotal) *big.Int) scan.Fingerprint {
	var lines []scan.Line
	for i := range p.Totals {
		t := &p.Totals[i]
		if account := linesOf(t).path(); t.Side == ledger.Debit {
			lines = append(lines, scan.Debit(account, asset, sum(t)))
		} else {
			lines = append(lines, scan.Credit(account, asset, sum(t)))
		}
	}
	return h.ExpectedFingerprint(lines)
}

// ShownTotals returns the fingerprint of a product's control totals as a response shows them.
func ShownTotals(h *scan.Histories, p *contract.Product, response []byte) scan.Fingerprint {
	var members map[string]json.RawMessage
	if json.Unmarshal(response, &members) != nil {
		members = nil // the response shows no contract, which is reported
	}
	env, _ := money.ParseEnv(textOf(members["env"])) // a wrong environment gives a wrong fingerprint, so it is reported too
	asset := money.Asset{Currency: money.Currency(textOf(members["currency"])), Env: env}
	return totalsFingerprint(h, p, asset, func(t *contract.ControlTotal) *big.Int {
		var rows []map[string]json.RawMessage
		if t.RowColumn == nil {
			return shownAmount(members[t.Column.Name])
		}
		if json.Unmarshal(members[t.Column.Name], &rows) != nil {
			rows = nil // the column has no rows
		}
		sum := new(big.Int)
		for _, row := range rows {
			sum.Add(sum, shownAmount(row[t.RowColumn.Name]))
		}
		return sum
	})
}

// shownAmount parses an amount in a response. Depending on the reading of the contract's product, the amount is a string or an
// integer. An absent amount is zero. A value that is not an amount becomes -1, which equals no amount.
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

// storedSum returns the control total that the contract's column holds.
func storedSum(t *contract.ControlTotal, p *contract.Record) *big.Int {
	if t.RowColumn == nil {
		amount, _ := t.Column.Value(p.Values).(money.Amount)
		return scan.BigAmount(amount)
	}
	sum := new(big.Int)
	rows, _ := t.Column.Value(p.Values).([]schema.Row)
	for _, row := range rows {
		amount, _ := t.RowColumn.Value(row).(money.Amount)
		sum.Add(sum, scan.BigAmount(amount))
	}
	return sum
}

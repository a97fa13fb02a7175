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

// For rule 3 of the checker (states of records), this file checks control totals. Some accounts are shared by all
// contracts. A control total (contract.ControlTotal) is a column that says how much one contract has posted on such an
// account. The column must equal the sum of the contract's postings on the account.

// countedLines identifies the postings that a control total adds up: the postings on one account by all actions, or by
// only one action.
type countedLines struct {
	account ledger.Path
	action  contract.Action
}

func linesOf(t *contract.ControlTotal) countedLines { return countedLines{t.Account, t.By} }

// path returns the account path under which the postings enter a fingerprint. If only one action's postings count, it is the
// path of a pseudo-account: the account's path and the action's name.
func (l countedLines) path() ledger.Path {
	if l.action == "" {
		return l.account
	}
	return l.account + ":" + ledger.Path(l.action)
}

// countedByAny is the set of postings that the control totals of at least one product add up. An event does not name
// its product, so the sums of every contract include all these postings.
var countedByAny = func() map[countedLines]bool {
	all := make(map[countedLines]bool)
	for _, p := range contract.Products {
		for i := range p.ControlTotals {
			all[linesOf(&p.ControlTotals[i])] = true
		}
	}
	return all
}()

// addControlTotals adds an entry's postings on shared accounts to the contract's sums.
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

// checkControlTotals compares the control totals in a contract's columns with the sums of the contract's postings on
// shared accounts.
func (c *Check) checkControlTotals(r *scan.Record, p *contract.Record, l *Lifecycle) {
	h := r.Organization.Histories
	if l.SharedSum != totalsFingerprint(h, p.Product, p.Asset, func(t *contract.ControlTotal) *big.Int { return storedSum(t, p) }) {
		c.Fault(r, "says other sums than its entries have moved")
	}
}

// totalsFingerprint returns the fingerprint of all control totals of a product. The parameter sum is a function that
// returns the value of one control total.
func totalsFingerprint(h *scan.Histories, p *contract.Product, asset money.Asset, sum func(*contract.ControlTotal) *big.Int) scan.Fingerprint {
	var lines []scan.Line
	for i := range p.ControlTotals {
		t := &p.ControlTotals[i]
		if account := linesOf(t).path(); t.Side == ledger.Debit {
			lines = append(lines, scan.Debit(account, asset, sum(t)))
		} else {
			lines = append(lines, scan.Credit(account, asset, sum(t)))
		}
	}
	return h.ExpectedFingerprint(lines)
}

// ShownTotals returns the fingerprint of the control totals that a response shows.
func ShownTotals(h *scan.Histories, p *contract.Product, response []byte) scan.Fingerprint {
	var members map[string]json.RawMessage
	if json.Unmarshal(response, &members) != nil {
		members = nil // the response shows no contract, which another check reports
	}
	env, _ := money.ParseEnv(textOf(members["env"])) // an invalid environment gives a wrong fingerprint, so it is reported too
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

// shownAmount parses an amount in a response. The amount is a string in one reading (secular or religious) and an integer in
// the other. An absent amount is zero. If the value is not an amount, shownAmount returns -1, which differs from every amount.
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

// storedSum returns the value of a control total in a stored contract.
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

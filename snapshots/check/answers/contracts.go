package answers

import (
	"math/big"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/snapshots/check/contracts"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 1, contracts as answers show them, in the secular and the religious family of paths. A
// contract that an answer showed must not be unknown later.

// The two path families that create contracts and act on them.
const (
	secularContracts   = "/api/v1/pfp/"
	religiousContracts = "/api/v1/baas/islamic-banking/"
)

// addressed is what a path names: a contract, or the contracts of a product.
type addressed struct {
	variant contracts.Variant
	id      string // empty: the path names the list
	action  string // an action, or the part of the contract that is read
}

// contractAddress parses a contract's path; false if the path is of another kind.
func contractAddress(path string) (to addressed, ok bool) {
	to.variant.Reading = contract.Secular
	rest, ok := strings.CutPrefix(path, secularContracts)
	if !ok {
		to.variant.Reading = contract.Religious
		if rest, ok = strings.CutPrefix(path, religiousContracts); !ok {
			return to, false
		}
	}
	name, rest, _ := strings.Cut(rest, "/")
	to.id, to.action, _ = strings.Cut(rest, "/")
	to.variant.Product = contract.Find(to.variant.Reading, name)
	return to, to.variant.Product != nil && !strings.Contains(to.action, "/")
}

// contractAnswer is what the answers say about one contract.
type contractAnswer struct {
	line    uint32
	variant contracts.Variant
	found   bool
	shown   []shownContract
}

// shownContract is a contract as one answer showed it.
type shownContract struct {
	line    uint32
	listed  bool // by an answer that is a list: sums and sent are not set
	status  contract.Status
	at      ledger.Micros    // time of the last change
	did     contract.Action  // the requested action; empty: the request only read
	sums    scan.Fingerprint // of the columns that show moved amounts (control totals)
	sent    uint32           // hash of the metadata without the keys that the service adds
	members members
}

// readContract reads an answer about contracts, or a request without an answer.
func (c *Check) readContract(n uint32, to addressed, l *answerLine) bool {
	keyed := l.Method == "POST" && c.noteKey(n, l, actors.KeyOfStaff, 0)
	list := to.id == ""
	switch status := *l.Status; {
	case l.Method == "POST" && (list && status == 201 || to.action != "" && status == 200), l.Method == "GET" && !list && to.action == "" && status == 200:
		c.showContract(n, to, l)
	case l.Method == "GET" && list && status == 200:
		rows, ok := l.rows()
		for _, s := range rows {
			ok = c.noteContract(n, to, l, s) != nil && ok
		}
		if !ok {
			c.Report.Breach(findings.RuleAnswers, "line %d: the answer is no list of contracts", n)
		}
		return !ok || len(rows) > 0
	case status == 404 && !list:
		return c.noteUnknownContract(n, to, l) || keyed
	default:
		return keyed
	}
	return true
}

// noteUnknownContract records that a contract was answered as unknown at the path at which an
// earlier answer showed it.
func (c *Check) noteUnknownContract(n uint32, to addressed, l *answerLine) bool {
	id, err := uuid.Parse(to.id)
	was := c.answers.contracts[scan.Place{Org: l.org, ID: id}]
	if err != nil || was == nil {
		return false
	}
	if was.variant == to.variant {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v is answered as unknown, and line %d showed it", n, id, was.line)
	}
	return true
}

// showContract records what an answer shows of the one contract that its path names.
func (c *Check) showContract(n uint32, to addressed, l *answerLine) {
	s := parseObject(l.data())
	if to.id != "" && s.text("id") != to.id {
		c.Report.Breach(findings.RuleAnswers, "line %d: the answer does not show contract %.36s", n, to.id)
	}
	now := c.noteContract(n, to, l, s)
	if now == nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: the answer shows no contract", n)
		return
	}
	now.listed = false
	now.sent = c.answers.hashOf(withoutOwn(to.variant.Product, s[contract.Sent.Name]))
	now.sums = c.shownTotals(to.variant.Product, l.org, s)
	switch {
	case l.Method == "GET":
	case to.action == "":
		now.did = contract.Create
	default:
		var known bool
		if now.did, known = to.variant.Product.Action(to.variant.Reading, to.action); !known {
			c.Report.Breach(findings.RuleAnswers, "line %d: an action was done that there is not", n)
		}
	}
}

// noteContract records a contract that an answer shows, as a list does; nil if it shows none.
// The pointer is valid until the next call for the same contract.
func (c *Check) noteContract(n uint32, to addressed, l *answerLine, s object) *shownContract {
	id, err := uuid.Parse(s.text("id"))
	at, dated := instantOf(s.text("updated_at"))
	status := contract.Status(s.text("status"))
	if err != nil || !dated || !to.variant.Product.Machine(to.variant.Reading).Has(status) {
		return nil
	}
	a := &c.answers
	place := scan.Place{Org: l.org, ID: id}
	was := a.contracts[place]
	if was == nil {
		was = &contractAnswer{line: n, variant: to.variant}
		a.contracts[place] = was
	}
	if was.variant != to.variant {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v has another address than in line %d", n, id, was.line)
	}
	if l.Method == "POST" && l.IdempotencyKey != "" {
		a.keyed = append(a.keyed, keyedAnswer{n, l.org, l.IdempotencyKey, ledger.Source{Kind: ledger.Contract, ID: id}})
	}
	was.shown = append(was.shown, shownContract{line: n, listed: true, status: status, at: at, members: a.membersOf(s)})
	return &was.shown[len(was.shown)-1]
}

// instantOf parses a time as answers write it.
func instantOf(said string) (ledger.Micros, bool) {
	at, err := time.Parse(schema.InstantLayout, said)
	return ledger.MicrosOf(at), err == nil
}

// withoutOwn returns metadata as the client sent it, without the keys that the service adds.
func withoutOwn(p *contract.Product, metadata jsontext.Value) jsontext.Value {
	sent := parseObject(metadata)
	for _, c := range p.Columns.Columns {
		if c.Place == schema.Metadata {
			delete(sent, c.Name)
		}
	}
	if len(sent) == 0 {
		return nil
	}
	return asJSON(sent)
}

// shownTotals computes, from the columns of an answer, what the contract has put on the
// accounts that it shares with other contracts. checkControlTotals computes the same from a
// record.
func (c *Check) shownTotals(p *contract.Product, org ledger.ID, s object) scan.Fingerprint {
	env, _ := money.ParseEnv(s.text("env")) // another environment than the contract's is reported when the members are compared
	asset := money.Asset{Currency: money.Currency(s.text("currency")), Env: env}
	var lines []scan.Line
	for _, t := range contracts.ControlTotals[p] {
		sum := amountShown(s[t.Column])
		if t.Of != "" {
			sum = new(big.Int)
			var rows []object
			if json.Unmarshal(s[t.Column], &rows) != nil {
				rows = nil // the column has no rows
			}
			for _, row := range rows {
				sum.Add(sum, amountShown(row[t.Of]))
			}
		}
		if t.Side == ledger.Debit {
			lines = append(lines, scan.Debit(t.Account, asset, sum))
		} else {
			lines = append(lines, scan.Credit(t.Account, asset, sum))
		}
	}
	return c.OrganizationOf(org).Histories.ExpectedFingerprint(lines)
}

// amountShown parses an amount, which is a string in one family and an integer in the other. An
// absent amount is zero. A value that is not an amount becomes -1, which equals no amount.
func amountShown(v jsontext.Value) *big.Int {
	if isNothing(v) {
		return new(big.Int)
	}
	amount, err := money.Parse(strings.Trim(string(v), `"`))
	if err != nil {
		return big.NewInt(-1)
	}
	return scan.BigAmount(amount)
}

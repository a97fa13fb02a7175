package answers

import (
	"math/big"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/snapshots/check/contracts"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 1, contracts as answers show them, in the secular and the religious family of paths. A
// contract that an answer showed must not be unknown later. A list is compared by the contracts
// that it shows and by the time of their last change.

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

// contractHead lists the fields that the creation sets and no table of columns has. Only the
// religious family shows the last two.
var contractHead = [...]string{"id", "contract_number", "env", "inserted_at", "product_type", "organization_id"}

// contractAnswer is what the answers say about one contract.
type contractAnswer struct {
	line    uint32
	variant contracts.Variant
	found   bool
	head    [len(contractHead)]uint32
	states  []observedContract
}

// observedContract is a contract as one answer showed it.
type observedContract struct {
	line   uint32
	status contract.Status
	at     ledger.Micros    // time of the last change
	did    contract.Action  // the requested action; empty: the request only read
	sums   scan.Fingerprint // of the columns that show moved amounts (control totals)
	sent   uint32           // hash of the metadata without the keys that the service adds
	fields []uint32         // hashes, in the order of the product's columns; nil: a list showed the contract
}

// contractAnswers is what the answers say about contracts.
type contractAnswers struct {
	index map[scan.Place]*contractAnswer
	keyed []keyedAnswer
	keys  map[uint64]*keyOutcome // outcomes of staff members' requests, by organization and key
}

func newContractAnswers() contractAnswers {
	return contractAnswers{index: make(map[scan.Place]*contractAnswer), keys: make(map[uint64]*keyOutcome)}
}

// readContract reads an answer about contracts, or a request without an answer.
func (c *Check) readContract(n uint32, to addressed, l *answerLine) (known bool) {
	const list, one = "", "/"
	at := list
	if to.id != "" {
		at = one
	}
	if l.Method == "POST" {
		known = c.noteStaffKey(n, l)
	}
	switch status := *l.Status; {
	case l.Method == "POST" && at == list && status == 201, l.Method == "GET" && at == one && to.action == "" && status == 200:
		c.showContract(n, to, l)
	case l.Method == "POST" && to.action != "" && status == 200:
		c.showContract(n, to, l)
	case l.Method == "GET" && at == list && status == 200:
		return c.showContracts(n, to, l)
	case status == 404 && at == one:
		return c.noteUnknownContract(n, to, l) || known
	default:
		return known
	}
	return true
}

// noteUnknownContract records that a contract was answered as unknown at the path at which an
// earlier answer showed it.
func (c *Check) noteUnknownContract(n uint32, to addressed, l *answerLine) bool {
	id, err := uuid.Parse(to.id)
	was := c.answers.contracts.index[scan.Place{Org: l.org, ID: id}]
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
	var response struct {
		Data object `json:"data"`
	}
	if json.Unmarshal(embedded(l.Response), &response) != nil {
		response.Data = nil
	}
	s := response.Data
	if to.id != "" && s.text("id") != to.id {
		c.Report.Breach(findings.RuleAnswers, "line %d: the answer does not show contract %.36s", n, to.id)
	}
	now, ok := c.noteContract(n, to, l, s)
	if !ok {
		c.Report.Breach(findings.RuleAnswers, "line %d: the answer shows no contract", n)
		return
	}
	columns := to.variant.Product.Columns.Columns
	now.fields = make([]uint32, len(columns))
	for i, column := range columns {
		now.fields[i] = c.answers.hashOf(withoutDefaults(column, s[column.Name]))
	}
	now.sent = c.answers.hashOf(withoutOwn(to.variant.Product, s[contract.Sent.Name]))
	now.sums = c.shownTotals(to.variant.Product, l.org, s)
	switch {
	case l.Method == "GET":
	case to.action == "":
		now.did = contract.Create
	default:
		if action, known := to.variant.Product.Action(to.variant.Reading, to.action); known {
			now.did = action
		} else {
			c.Report.Breach(findings.RuleAnswers, "line %d: an action was done that there is not", n)
		}
	}
}

// showContracts records what a list shows of each contract: head, status and time of the last
// change.
func (c *Check) showContracts(n uint32, to addressed, l *answerLine) bool {
	var response struct {
		Data []object `json:"data"`
	}
	if json.Unmarshal(embedded(l.Response), &response) != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: the answer lists nothing", n)
		return true
	}
	for _, s := range response.Data {
		if _, ok := c.noteContract(n, to, l, s); !ok {
			c.Report.Breach(findings.RuleAnswers, "line %d: the answer lists what is no contract", n)
		}
	}
	return len(response.Data) > 0
}

// noteContract records the fields that an answer about one contract shares with a list. The
// returned pointer is valid until the next call for the same contract.
func (c *Check) noteContract(n uint32, to addressed, l *answerLine, s object) (now *observedContract, ok bool) {
	id, err := uuid.Parse(s.text("id"))
	at, dated := instantOf(s.text("updated_at"))
	status := contract.Status(s.text("status"))
	if err != nil || !dated || !to.variant.Product.Machine(to.variant.Reading).Has(status) {
		return nil, false
	}
	a := &c.answers
	place := scan.Place{Org: l.org, ID: id}
	var head [len(contractHead)]uint32
	a.hashesOf(head[:], contractHead[:], s)
	was := a.contracts.index[place]
	if was == nil {
		was = &contractAnswer{line: n, variant: to.variant, head: head}
		a.contracts.index[place] = was
	}
	if names := differing(contractHead[:], head[:], was.head[:]); names != "" || was.variant != to.variant {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v differs from line %d in %s", n, id, was.line, or(names, "its address"))
	}
	if l.Method == "POST" && l.IdempotencyKey != "" {
		a.contracts.keyed = append(a.contracts.keyed, keyedAnswer{n, place, l.IdempotencyKey})
	}
	was.states = append(was.states, observedContract{line: n, status: status, at: at})
	return &was.states[len(was.states)-1], true
}

// instantOf parses a time as answers write it.
func instantOf(said string) (ledger.Micros, bool) {
	at, err := time.Parse(instantLayout, said)
	return ledger.MicrosOf(at), err == nil
}

// shownTotals computes, from the columns of an answer, what the contract has put on the
// accounts that it shares with other contracts. checkControlTotals computes the same from a
// record.
func (c *Check) shownTotals(p *contract.Product, org ledger.ID, s object) scan.Fingerprint {
	env, _ := money.ParseEnv(s.text("env")) // a wrong environment is reported when the head is compared
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
	said := string(v)
	if v.Kind() == '"' {
		said = object{"": v}.text("")
	}
	amount, err := money.Parse(said)
	if err != nil {
		return big.NewInt(-1)
	}
	return scan.BigAmount(amount)
}

// hashesOf writes the hash of each named field to its place in to.
func (a *acknowledgements) hashesOf(to []uint32, names []string, s object) {
	for i, name := range names {
		to[i] = a.hashOf(s[name])
	}
}

// differing names the fields whose hashes differ; empty if all are equal.
func differing(names []string, a, b []uint32) string {
	var list []string
	for i, name := range names {
		if a[i] != b[i] {
			list = append(list, name)
		}
	}
	return joined(list)
}

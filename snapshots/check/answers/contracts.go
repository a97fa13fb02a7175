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

// Rule 1, contracts as answers show them, in the secular and the religious family of paths.
// A contract that was shown must not be unknown later; lists are compared by which
// contracts they show, and as of when.

// The families of addresses at which contracts are made and moved.
const (
	secularContracts   = "/api/v1/pfp/"
	religiousContracts = "/api/v1/baas/islamic-banking/"
)

// addressed is what an address of a contract, or of a product's contracts, names.
type addressed struct {
	variant contracts.Variant
	id      string // empty: the list
	action  string // or what of the contract is read
}

// contractAddress takes an address of contracts apart; false: it is none.
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

// contractHead are the fields of a contract's answers that no table of columns has,
// and that its creation decides. The last two are of the religious family.
var contractHead = [...]string{"id", "contract_number", "env", "inserted_at", "product_type", "organization_id"}

// signed is what answers said of one contract.
type signed struct {
	line    uint32
	variant contracts.Variant
	found   bool
	head    [len(contractHead)]uint32
	shown   []showing
}

// showing is a contract as one answer showed it.
type showing struct {
	line   uint32
	status contract.Status
	at     ledger.Micros    // when it was changed last
	did    contract.Action  // what was asked for; empty: to see it
	sums   scan.Fingerprint // of the columns that say what has been moved (tallies)
	sent   uint32           // print of metadata without the service's own keys
	fields []uint32         // prints, in the order of the product's columns; nil: it was in a list
}

// contractAnswers are what answers said of contracts.
type contractAnswers struct {
	index map[scan.Place]*signed
	keyed []keyedAnswer
	keys  map[uint64]*askedKey // of staff's requests, by organization and key
}

func newContractAnswers() contractAnswers {
	return contractAnswers{index: make(map[scan.Place]*signed), keys: make(map[uint64]*askedKey)}
}

// readContract reads an answer about contracts, or that none came.
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
		return c.deniedContract(n, to, l) || known
	default:
		return known
	}
	return true
}

// deniedContract notes that a contract was answered as unknown at the address at which
// it was shown before.
func (c *Check) deniedContract(n uint32, to addressed, l *answerLine) bool {
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

// showContract notes what an answer shows of the contract that it is about.
func (c *Check) showContract(n uint32, to addressed, l *answerLine) {
	var response struct {
		Data shown `json:"data"`
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
		now.fields[i] = c.answers.print(plainly(column, s[column.Name]))
	}
	now.sent = c.answers.print(withoutOwn(to.variant.Product, s[contract.Sent.Name]))
	now.sums = c.sumsShown(to.variant.Product, l.org, s)
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

// showContracts notes what an answer lists: of each its head, its status and when it
// was changed.
func (c *Check) showContracts(n uint32, to addressed, l *answerLine) bool {
	var response struct {
		Data []shown `json:"data"`
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

// noteContract notes the part of an answer that lists have too. The showing holds
// until the next one of the same contract.
func (c *Check) noteContract(n uint32, to addressed, l *answerLine, s shown) (now *showing, ok bool) {
	id, err := uuid.Parse(s.text("id"))
	at, dated := instantOf(s.text("updated_at"))
	status := contract.Status(s.text("status"))
	if err != nil || !dated || !to.variant.Product.Machine(to.variant.Reading).Has(status) {
		return nil, false
	}
	a := &c.answers
	place := scan.Place{Org: l.org, ID: id}
	var head [len(contractHead)]uint32
	a.prints(head[:], contractHead[:], s)
	was := a.contracts.index[place]
	if was == nil {
		was = &signed{line: n, variant: to.variant, head: head}
		a.contracts.index[place] = was
	}
	if names := differing(contractHead[:], head[:], was.head[:]); names != "" || was.variant != to.variant {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v differs from line %d in %s", n, id, was.line, or(names, "its address"))
	}
	if l.Method == "POST" && l.IdempotencyKey != "" {
		a.contracts.keyed = append(a.contracts.keyed, keyedAnswer{n, place, l.IdempotencyKey})
	}
	was.shown = append(was.shown, showing{line: n, status: status, at: at})
	return &was.shown[len(was.shown)-1], true
}

// instantOf is a time as answers write it.
func instantOf(said string) (ledger.Micros, bool) {
	at, err := time.Parse(instantLayout, said)
	return ledger.MicrosOf(at), err == nil
}

// sumsShown is what an answer's columns say that the contract has put on accounts
// which it shares with others: the same that checkTallies makes of a record's.
func (c *Check) sumsShown(p *contract.Product, org ledger.ID, s shown) scan.Fingerprint {
	env, _ := money.ParseEnv(s.text("env")) // another one than the record's is found by itself
	asset := money.Asset{Currency: money.Currency(s.text("currency")), Env: env}
	var lines []scan.Line
	for _, t := range contracts.ControlTotals[p] {
		sum := amountShown(s[t.Column])
		if t.Of != "" {
			sum = new(big.Int)
			var rows []shown
			if json.Unmarshal(s[t.Column], &rows) != nil {
				rows = nil // there are none
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

// amountShown is an amount that one family writes as a string and the other as an
// integer. One that is left out is zero, and what is no amount is none that there is.
func amountShown(v jsontext.Value) *big.Int {
	if isNothing(v) {
		return new(big.Int)
	}
	said := string(v)
	if v.Kind() == '"' {
		said = shown{"": v}.text("")
	}
	amount, err := money.Parse(said)
	if err != nil {
		return big.NewInt(-1)
	}
	return scan.BigAmount(amount)
}

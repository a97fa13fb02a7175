package snapshots

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/payment"
)

// answers are what a client was told, and has to be found in the store.
type answers struct {
	given   bool
	skipped uint64 // lines about something else
	seed    maphash.Seed
	index   map[placed]int32 // acknowledged transactions
	shelf   shelf[acknowledged]
	states  states
	asked   map[uint64]*asked // by organization and txid
	made    []createdAnswer
}

// acknowledged is what answers said of one transaction.
type acknowledged struct {
	line     uint32
	found    bool
	passed   uint64 // states that were shown
	identity uint64 // hash of what never changes
	amounts  uint64 // hash of what money moved; 0: it had not moved yet
}

// asked is what became of the creates with one txid.
type asked struct {
	succeeded, unknown, refused bool
	line                        uint32
	requests                    []uint64 // what was asked for
}

// createdAnswer acknowledges a record of the directory.
type createdAnswer struct {
	line uint32
	made made
}

// answerLine is a line of the answers file. Body and response are JSON, or a
// string that holds it.
type answerLine struct {
	Method         string         `json:"method"`
	Path           string         `json:"path"`
	OrganizationID string         `json:"organization_id"`
	Body           jsontext.Value `json:"body"`
	Status         int            `json:"status"`
	Response       jsontext.Value `json:"response"`
}

// shown is a transaction as an answer shows it.
type shown struct {
	ID             string  `json:"id"`
	TxID           *string `json:"txid"`
	Type           string  `json:"type"`
	Status         string  `json:"status"`
	Amount         string  `json:"amount"`
	AmountWithFee  string  `json:"amount_with_fee"`
	AmountDest     string  `json:"amount_dest"`
	MerchantAmount string  `json:"merchant_amount"`
	Currency       string  `json:"currency"`
	Network        string  `json:"network"`
	Env            string  `json:"env"`
}

const transactionsPath = "/api/v1/transactions"

// creations are the directory's creates whose answers name a record.
var creations = map[string]ledger.Kind{
	"/api/v1/organizations": ledger.Organization,
	"/api/v1/partners":      ledger.Partner,
	"/api/v1/terminal":      ledger.Terminal,
	"/api/v1/api_keys":      ledger.APIKey,
}

// readAnswers reads the file. A line that is no answer, as a killed client
// leaves one, is skipped.
func (c *checker) readAnswers(path string) error {
	if path == "" {
		c.report.skip(ruleAnswers)
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: answers: %w", errInput, err)
	}
	defer f.Close()
	a := &c.answers
	*a = answers{given: true, seed: maphash.MakeSeed(), index: make(map[placed]int32), asked: make(map[uint64]*asked)}
	a.states = states{codes: map[string]uint8{"": 0}, names: []string{""}}
	r := bufio.NewReaderSize(f, 1<<20)
	for n := uint32(1); ; n++ {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			c.readAnswer(n, line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: answers: %w", errInput, err)
		}
		if err := c.alive(); err != nil {
			return err
		}
	}
}

func (c *checker) readAnswer(n uint32, line []byte) {
	var l answerLine
	if json.Unmarshal(line, &l) != nil {
		c.answers.skipped++
		return
	}
	path, _, _ := strings.Cut(l.Path, "?")
	org, orgErr := uuid.Parse(l.OrganizationID)
	kind, creates := creations[path]
	known := false
	switch {
	case orgErr == nil && l.Method == "POST" && path == transactionsPath:
		c.readCreate(n, org, &l)
		known = true
	case orgErr == nil && strings.HasPrefix(path+"/", transactionsPath+"/"):
		known = c.readShown(n, org, &l)
	case creates && l.Method == "POST" && l.Status == 201:
		known = c.readCreated(n, kind, org, &l)
	}
	if known {
		c.report.count(ruleAnswers, 1)
	} else {
		c.answers.skipped++
	}
}

// readCreate reads the answer to a create of a transaction, or that none came.
func (c *checker) readCreate(n uint32, org ledger.ID, l *answerLine) {
	var body struct {
		Params struct {
			TxID     string `json:"txid"`
			Type     string `json:"type"`
			Amount   string `json:"amount"`
			Currency string `json:"currency"`
			Env      string `json:"env"`
		} `json:"params"`
	}
	if l.Status == 201 && !c.readShown(n, org, l) {
		c.report.breach(ruleAnswers, "line %d: the answer names no transaction", n)
	}
	p := &body.Params
	if json.Unmarshal(embedded(l.Body), &body) != nil || p.TxID == "" {
		return
	}
	a := &c.answers
	key := a.hash(org.String(), p.TxID)
	of := a.asked[key]
	if of == nil {
		of = &asked{line: n}
		a.asked[key] = of
	}
	switch {
	case l.Status == 201:
		of.succeeded = true
	case l.Status >= 400 && l.Status < 500:
		of.refused = true
		return // what was refused is not what may be there
	default:
		of.unknown = true
	}
	request := a.hash(p.Type, p.Amount, or(p.Currency, "RUB"), or(p.Env, "prod"))
	if !slices.Contains(of.requests, request) {
		of.requests = append(of.requests, request)
	}
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// readShown reads an answer that shows transactions: one, or a list.
func (c *checker) readShown(n uint32, org ledger.ID, l *answerLine) bool {
	if l.Status != 200 && l.Status != 201 {
		return false
	}
	var response struct {
		shown `json:",inline"`
		Data  []shown `json:"data"`
	}
	if json.Unmarshal(embedded(l.Response), &response) != nil {
		return false
	}
	any := c.acknowledge(n, org, &response.shown)
	for i := range response.Data {
		any = c.acknowledge(n, org, &response.Data[i]) || any
	}
	return any
}

// settledStatuses are those in which a transaction's amounts are final.
var settledStatuses = []string{"charged", "reversed", "refunding", "refunded"}

// acknowledge notes what an answer says of a transaction. Two answers may show
// different states, but not different transactions.
func (c *checker) acknowledge(n uint32, org ledger.ID, s *shown) bool {
	id, err := uuid.Parse(s.ID)
	if err != nil || s.Status == "" {
		return false
	}
	a := &c.answers
	txid := ""
	if s.TxID != nil {
		txid = *s.TxID
	}
	identity := a.hash(txid, s.Type, s.Amount, s.Currency, s.Env)
	at, again := a.index[placed{org, id}]
	if !again {
		at = a.shelf.add(acknowledged{line: n, identity: identity})
		a.index[placed{org, id}] = at
	}
	ack := a.shelf.at(at)
	ack.passed |= 1 << a.states.code(s.Status)
	amounts := uint64(0)
	if slices.Contains(settledStatuses, s.Status) {
		amounts = a.hash(s.AmountWithFee, s.AmountDest, s.MerchantAmount, s.Network)
	}
	if identity != ack.identity || (amounts != 0 && ack.amounts != 0 && amounts != ack.amounts) {
		c.report.breach(ruleAnswers, "line %d: transaction %v differs from line %d", n, id, ack.line)
	}
	if amounts != 0 {
		ack.amounts = amounts
	}
	return true
}

// readCreated reads the answer to a create of the directory: its fields are at
// the top level, in data, or both.
func (c *checker) readCreated(n uint32, kind ledger.Kind, org ledger.ID, l *answerLine) bool {
	var response struct {
		ID   jsontext.Value `json:"id"`
		Data struct {
			ID jsontext.Value `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(embedded(l.Response), &response) != nil {
		return false
	}
	name := strings.Trim(or(string(response.ID), string(response.Data.ID)), `"`)
	if kind == ledger.Organization {
		org, _ = uuid.Parse(name) // its record is in itself; no id, no record
	}
	c.answers.made = append(c.answers.made, createdAnswer{n, made{kind, org, name}})
	return true
}

// embedded is the JSON that a value is, or that it holds as a string.
func embedded(v jsontext.Value) []byte {
	if v.Kind() != '"' {
		return v
	}
	var text string
	if json.Unmarshal(v, &text) != nil {
		return nil
	}
	return []byte(text)
}

func (a *answers) hash(texts ...string) uint64 {
	var m maphash.Hash
	m.SetSeed(a.seed)
	for _, text := range texts {
		_, _ = m.WriteString(strconv.Itoa(len(text))) // it never fails
		_, _ = m.WriteString(":" + text)
	}
	return m.Sum64() | 1
}

// meet compares a stored transaction with what was answered of it.
func (c *checker) meet(r *record, p *payment.Record) {
	a := &c.answers
	if !a.given {
		return
	}
	if p.TxID != "" {
		c.meetRequest(r, p)
	}
	at, acknowledged := a.index[placed{r.organization.id, p.ID}]
	if !acknowledged {
		return
	}
	ack := a.shelf.at(at)
	ack.found = true
	if ack.identity != a.hash(p.TxID, p.Type.String(), p.Amount.String(), string(p.Asset.Currency), p.Asset.Env.String()) {
		c.report.breach(ruleAnswers, "line %d: transaction %v is stored as another one", ack.line, p.ID)
	}
	if ack.amounts != 0 && ack.amounts != a.hash(p.WithFee.String(), p.Dest.String(), p.Merchant.String(), string(p.Asset.Network)) {
		c.report.breach(ruleAnswers, "line %d: transaction %v is stored with other amounts", ack.line, p.ID)
	}
	states := r.organization.histories.statesOf(ledger.Transaction)
	for passed := ack.passed; passed != 0; passed &= passed - 1 {
		status := a.states.names[bits.TrailingZeros64(passed)]
		final := payment.Machine.Final(payment.Status(status))
		if !states.was(r.history, status) || (final && string(p.Status) != status) {
			c.report.breach(ruleAnswers, "line %d: transaction %v was answered as %q and is %q", ack.line, p.ID, status, p.Status)
		}
	}
}

// meetRequest compares a stored transaction with the creates of its txid.
func (c *checker) meetRequest(r *record, p *payment.Record) {
	a := &c.answers
	of := a.asked[a.hash(r.organization.id.String(), p.TxID)]
	switch {
	case of == nil || of.succeeded:
	case !of.unknown && of.refused:
		c.report.breach(ruleAnswers, "line %d: the create was refused, and transaction %v has its txid", of.line, p.ID)
	case !slices.Contains(of.requests, a.hash(p.Type.String(), p.Amount.String(), string(p.Asset.Currency), p.Asset.Env.String())):
		c.report.breach(ruleAnswers, "line %d: no answer came, and transaction %v is not what was asked for", of.line, p.ID)
	}
}

// checkAnswers reports what was acknowledged and is not there.
func (c *checker) checkAnswers() error {
	a := &c.answers
	for place, at := range a.index {
		if ack := a.shelf.at(at); !ack.found {
			c.report.breach(ruleAnswers, "line %d: transaction %v of organization %v is lost", ack.line, place.id, place.org)
		}
	}
	for _, m := range a.made {
		if !c.directory.made[m.made] && !c.madeAnywhere(m.made) {
			c.report.breach(ruleAnswers, "line %d: the %s of organization %v is lost", m.line, kindName(m.made.kind), m.made.org)
		}
	}
	return nil
}

// madeAnywhere looks in all organizations for what an answer without one names:
// the header may be left out where there is only one.
func (c *checker) madeAnywhere(m made) bool {
	if m.org != (ledger.ID{}) {
		return false
	}
	for org := range c.organizations {
		if c.directory.made[made{m.kind, org, m.name}] {
			return true
		}
	}
	return false
}

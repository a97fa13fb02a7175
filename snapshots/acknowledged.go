package snapshots

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/payment"
)

// acknowledged is what answers said of one transaction: prints of its fields,
// because there may be very many.
type acknowledged struct {
	line    uint32
	found   bool
	partner int64 // who was answered; 0: not said
	fixed   [len(fixedFields)]uint32
	moving  []movingPrints // in the order of the first answers
}

// movingPrints are those of the fields that go with a status.
type movingPrints struct {
	line   uint32
	status uint8
	fields [len(movingFields)]uint32
}

// The fields of a transaction that its record determines. The fixed ones are
// decided when it is created and never change; the moving ones go with a status.
var (
	fixedFields = [...]string{
		"id", "txid", "type", "amount", "amount_with_fee", "amount_dest", "merchant_amount", "currency", "currency_dest",
		"network", "env", "scale", "started", "description", "merchant_meta", "route",
	}
	movingFields = [...]string{"error_description", "finished", "rrn", "return_id"}
)

// shown is a JSON object of an answer.
type shown map[string]jsontext.Value

// parseShown is nil for what is no JSON object.
func parseShown(value []byte) shown {
	var s shown
	if json.Unmarshal(value, &s) != nil {
		return nil
	}
	return s
}

// text is a field that is a string; empty for any other.
func (s shown) text(name string) string {
	var text string
	if v := s[name]; v.Kind() != '"' || json.Unmarshal(v, &text) != nil {
		return ""
	}
	return text
}

// canonical is a value in its one form, so that values compare as bytes. Whole
// numbers stay as they are: beyond 2^53 they would become one another. An
// absent value has an empty form.
func canonical(v jsontext.Value) string {
	own := jsontext.Value(bytes.Clone(v))
	if len(v) == 0 || own.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		return string(v)
	}
	return string(own)
}

// prints writes a print of each named field.
func (a *answers) prints(to []uint32, names []string, s shown) {
	for i, name := range names {
		to[i] = uint32(maphash.String(a.seed, canonical(s[name])))
	}
}

// differing names the fields whose prints differ; empty: none do.
func differing(names []string, a, b []uint32) string {
	var list []string
	for i, name := range names {
		if a[i] != b[i] {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// readList reads an answer that lists transactions.
func (c *checker) readList(n uint32, l *answerLine) bool {
	var response struct {
		Data []shown `json:"data"`
	}
	if json.Unmarshal(embedded(l.Response), &response) != nil {
		return false
	}
	any := false
	for _, s := range response.Data {
		any = c.acknowledge(n, l, s) || any
	}
	return any
}

// readTransaction reads an answer about one transaction. A path that goes on
// after its id may show another one.
func (c *checker) readTransaction(n uint32, rest string, l *answerLine) bool {
	id, err := uuid.Parse(rest)
	exact := err == nil && l.Method == "GET"
	switch *l.Status {
	case 404:
		return exact && c.denied(n, id, l)
	case 200, 201:
		s := parseShown(embedded(l.Response))
		known := c.acknowledge(n, l, s)
		if exact && s.text("id") != id.String() {
			c.report.breach(ruleAnswers, "line %d: the answer does not show transaction %v", n, id)
		}
		return known || exact
	}
	return false
}

// denied notes that a transaction was answered as unknown. Whom it was shown to
// before must be shown it again; another partner of the organization must not,
// where the file tells partners apart.
func (c *checker) denied(n uint32, id ledger.ID, l *answerLine) bool {
	a := &c.answers
	at, known := a.index[placed{l.org, id}]
	if !known {
		return false
	}
	ack := a.shelf.at(at)
	if l.PartnerID == ack.partner || l.PartnerID == 0 || ack.partner == 0 {
		c.report.breach(ruleAnswers, "line %d: transaction %v is answered as unknown, and line %d showed it", n, id, ack.line)
	}
	return true
}

// acknowledge notes what an answer says of a transaction. Two answers may show
// different statuses, but not different transactions.
func (c *checker) acknowledge(n uint32, l *answerLine, s shown) bool {
	id, err := uuid.Parse(s.text("id"))
	status := s.text("status")
	if err != nil || status == "" {
		return false
	}
	a := &c.answers
	var fixed [len(fixedFields)]uint32
	a.prints(fixed[:], fixedFields[:], s)
	at, again := a.index[placed{l.org, id}]
	if !again {
		at = a.shelf.add(acknowledged{line: n, partner: l.PartnerID, fixed: fixed})
		a.index[placed{l.org, id}] = at
	}
	ack := a.shelf.at(at)
	if ack.partner == 0 {
		ack.partner = l.PartnerID
	}
	if names := differing(fixedFields[:], fixed[:], ack.fixed[:]); names != "" {
		c.report.breach(ruleAnswers, "line %d: transaction %v differs from line %d in %s", n, id, ack.line, names)
	}
	code := a.states.code(status)
	moving := movingPrints{line: n, status: code}
	a.prints(moving.fields[:], movingFields[:], s)
	c.noteMoving(ack, id, &moving)
	return true
}

// noteMoving keeps a status's prints, which every answer with it must share.
func (c *checker) noteMoving(ack *acknowledged, id ledger.ID, m *movingPrints) {
	at := slices.IndexFunc(ack.moving, func(before movingPrints) bool { return before.status == m.status })
	if at < 0 {
		ack.moving = append(ack.moving, *m)
		return
	}
	if names := differing(movingFields[:], m.fields[:], ack.moving[at].fields[:]); names != "" {
		c.report.breach(ruleAnswers, "line %d: transaction %v differs from line %d in %s", m.line, id, ack.moving[at].line, names)
	}
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
	var fixed [len(fixedFields)]uint32
	a.prints(fixed[:], fixedFields[:], fixedOf(r, p))
	if names := differing(fixedFields[:], fixed[:], ack.fixed[:]); names != "" {
		c.report.breach(ruleAnswers, "line %d: transaction %v is stored with another %s", ack.line, p.ID, names)
	}
	for i := range ack.moving {
		c.meetStatus(r, p, &ack.moving[i])
	}
}

// meetStatus compares a stored transaction with the answers that showed a
// status: the record must have been in it, and the fields are those that it
// brought.
func (c *checker) meetStatus(r *record, p *payment.Record, m *movingPrints) {
	a := &c.answers
	status := a.states.names[m.status]
	states := r.organization.histories.statesOf(ledger.Transaction)
	ended := payment.Machine.Final(payment.Status(status))
	if !states.was(r.history, status) || (ended && string(p.Status) != status) {
		c.report.breach(ruleAnswers, "line %d: transaction %v was answered as %q and is %q", m.line, p.ID, status, p.Status)
		return
	}
	var want [len(movingFields)]uint32
	a.prints(want[:], movingFields[:], c.movingOf(r, p, payment.Status(status)))
	if names := differing(movingFields[:], want[:], m.fields[:]); names != "" {
		c.report.breach(ruleAnswers, "line %d: transaction %v was answered as %q with another %s than it had", m.line, p.ID, status, names)
	}
}

// fixedOf are a record's fixed fields as an answer has to show them
// (specification, "Transaction").
func fixedOf(r *record, p *payment.Record) shown {
	s := shown{
		"id": quoted(p.ID.String()), "txid": quotedOrNull(p.TxID), "type": quoted(p.Type.String()),
		"amount": quoted(p.Amount.String()), "amount_with_fee": quoted(p.WithFee.String()),
		"amount_dest": quoted(p.Dest.String()), "merchant_amount": quoted(p.Merchant.String()),
		"currency": quoted(string(p.Asset.Currency)), "currency_dest": quoted(string(p.Asset.Currency)),
		"env": quoted(p.Asset.Env.String()), "scale": jsontext.Value("null"), "started": instant(r.stamp.Started),
		"description": jsontext.Value("null"), "merchant_meta": p.MerchantMeta, "route": quoted(p.Route),
	}
	if p.Asset.Network != "" {
		s["network"] = quoted(string(p.Asset.Network))
	}
	if digits, resolved := p.Asset.Scale(); resolved {
		s["scale"] = jsontext.Value(strconv.Itoa(digits))
	}
	if p.Terminal != (ledger.ID{}) {
		switch {
		case p.ShownText != "":
			s["description"] = quoted(p.ShownText)
		case p.Described:
			s["description"] = quoted(p.Description)
		}
	}
	if len(p.MerchantMeta) == 0 {
		s["merchant_meta"] = jsontext.Value("{}")
	}
	return s
}

// movingOf are the fields that a record showed while it had a status: a reason
// and a return come with the last event, and a reference with the settlement.
func (c *checker) movingOf(r *record, p *payment.Record, status payment.Status) shown {
	s := shown{"error_description": quoted(""), "finished": jsontext.Value("null")}
	if status == p.Status {
		s["error_description"], s["finished"] = quoted(p.Error), instant(r.stamp.Finished)
		if p.ReturnID != (ledger.ID{}) {
			s["return_id"] = quoted(p.ReturnID.String())
		}
	} else if status.Final() {
		s["finished"] = instant(c.entered(r, status))
	}
	if p.RRN != "" && (status == p.Status || status.Final()) {
		s["rrn"] = quoted(p.RRN)
	}
	return s
}

// entered is when a record came into a status that it has left; 0: never.
func (c *checker) entered(r *record, status payment.Status) (at ledger.Micros) {
	err := c.view.SourceEvents(r.organization.id, r.source, func(e ledger.Event) (bool, error) {
		if e.To == string(status) && e.From != e.To {
			at = e.Booked
		}
		return at == 0, nil
	})
	if err != nil {
		c.report.breach(ruleStates, "organization %v: %s: %v", r.organization.id, named(r.source), err)
	}
	return at
}

func quoted(text string) jsontext.Value {
	value, _ := jsontext.AppendQuote(nil, text) // text that is not UTF-8 was never sent as such
	return value
}

func quotedOrNull(text string) jsontext.Value {
	if text == "" {
		return jsontext.Value("null")
	}
	return quoted(text)
}

// instantLayout is how answers write a time.
const instantLayout = "2006-01-02T15:04:05.000000-07:00"

func instant(at ledger.Micros) jsontext.Value {
	if at == 0 {
		return jsontext.Value("null")
	}
	return quoted(at.Time().Format(instantLayout))
}

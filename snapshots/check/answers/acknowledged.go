package answers

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 1, transactions as answers show them. Two answers must not show one transaction with
// different fixed fields, and a transaction that was shown must not be answered as unknown
// (404) to the same partner on a later line.

// acknowledged is what answers said of one transaction: prints of its fields,
// because there may be very many.
type acknowledged struct {
	line     uint32
	found    bool
	partner  int64 // who was answered; 0: not said
	fixed    [len(fixedFields)]uint32
	pictures []picture   // each that was shown, in the order of the first answers
	refunds  []ledger.ID // each that was named

	shownRefunds []shownRefund
	refunded     money.Amount // the most that was shown
}

// picture are prints of the fields that go with a status.
type picture struct {
	line   uint32
	status uint8
	short  bool // there is nothing but a status
	fields [len(movingFields)]uint32
}

// The fields of a transaction that its record determines. The fixed ones are
// decided when it is created and never change, and the short answer to a hosted
// create has them too. The moving ones go with a status.
var (
	fixedFields  = [...]string{"id", "txid", "type", "amount", "currency", "env", "started"}
	movingFields = [...]string{
		"error_description", "finished", "rrn", "return_id", "amount_with_fee", "amount_dest", "merchant_amount",
		"currency_dest", "currency_rate", "network", "network_dest", "scale", "scale_dest", "captured_amount",
		"route", "link_id", "description", "merchant_meta", "error_code", "payment_method", "customer",
	}
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

// print stands for a value.
func (a *given) print(v jsontext.Value) uint32 {
	return uint32(maphash.String(a.seed, canonical(v)))
}

// prints writes a print of each named field.
func (a *given) prints(to []uint32, names []string, s shown) {
	for i, name := range names {
		to[i] = a.print(s[name])
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
	return joined(list)
}

func joined(names []string) string { return strings.Join(names, ", ") }

// readList reads an answer that lists transactions.
func (c *Check) readList(n uint32, l *answerLine) bool {
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

// moves are the operations whose path names the transaction after them
// (specification, "Endpoints").
var moves = [...]string{"commit/", "continue/", "additional_params_for_auth/", "choose_target_destination/"}

// readTransaction reads an answer about one transaction. A path that goes on
// after its id may show another one.
func (c *Check) readTransaction(n uint32, rest string, l *answerLine) bool {
	moving := l.Method == "PUT"
	for _, move := range moves {
		if after, found := strings.CutPrefix(rest, move); found && l.Method == "POST" {
			rest, moving = after, true
		}
	}
	id, err := uuid.Parse(rest)
	exact := err == nil && (moving || l.Method == "GET")
	switch *l.Status {
	case 404:
		return exact && c.denied(n, id, l)
	case 200, 201:
		s := parseShown(embedded(l.Response))
		known := c.acknowledge(n, l, s)
		if exact && s.text("id") != id.String() && (known || !moving) {
			c.Report.Breach(findings.RuleAnswers, "line %d: the answer does not show transaction %v", n, id)
		}
		if known && l.asksForRefund() && s.text("refund_id") == "" {
			c.Report.Breach(findings.RuleAnswers, "line %d: the answer to a refund of transaction %v names none", n, id)
		}
		return known || exact && !moving
	}
	return false
}

// asksForRefund tells whether the line is the request of a refund.
func (l *answerLine) asksForRefund() bool {
	var body struct {
		Params struct {
			Type string `json:"type"`
		} `json:"params"`
	}
	return l.Method == "PUT" && json.Unmarshal(embedded(l.Body), &body) == nil && body.Params.Type == "refund"
}

// denied notes that a transaction was answered as unknown. Whom it was shown to
// before must be shown it again; another partner of the organization must not,
// where the file tells partners apart.
func (c *Check) denied(n uint32, id ledger.ID, l *answerLine) bool {
	a := &c.answers
	at, known := a.index[scan.Place{Org: l.org, ID: id}]
	if !known {
		return false
	}
	ack := a.slab.At(at)
	if l.PartnerID == ack.partner || l.PartnerID == 0 || ack.partner == 0 {
		c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v is answered as unknown, and line %d showed it", n, id, ack.line)
	}
	return true
}

// acknowledge notes what an answer says of a transaction. Two answers may show
// different statuses, but not different transactions.
func (c *Check) acknowledge(n uint32, l *answerLine, s shown) bool {
	id, err := uuid.Parse(s.text("id"))
	status := s.text("status")
	if err != nil || status == "" {
		return false
	}
	a := &c.answers
	var fixed [len(fixedFields)]uint32
	a.prints(fixed[:], fixedFields[:], s)
	at, again := a.index[scan.Place{Org: l.org, ID: id}]
	if !again {
		at = a.slab.Add(acknowledged{line: n, partner: l.PartnerID, fixed: fixed})
		a.index[scan.Place{Org: l.org, ID: id}] = at
	}
	ack := a.slab.At(at)
	if ack.partner == 0 {
		ack.partner = l.PartnerID
	}
	if names := differing(fixedFields[:], fixed[:], ack.fixed[:]); names != "" {
		c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v differs from line %d in %s", n, id, ack.line, names)
	}
	if l.IdempotencyKey != "" && l.Method != "GET" && !l.named {
		a.keyed = append(a.keyed, keyedAnswer{n, scan.Place{Org: l.org, ID: id}, l.IdempotencyKey})
	}
	ack.picture(a, n, l, s)
	c.readRefunds(n, id, ack, s)
	if refund, err := uuid.Parse(s.text("refund_id")); err == nil && !slices.Contains(ack.refunds, refund) {
		ack.refunds = append(ack.refunds, refund)
	}
	if refunded, err := money.Parse(s.text("refunded_amount")); err == nil && ack.refunded.Less(refunded) {
		ack.refunded = refunded
	}
	return true
}

// picture notes what an answer shows, once each. The short answer to a hosted
// create shows a status and no more.
func (ack *acknowledged) picture(a *given, n uint32, l *answerLine, s shown) {
	p := picture{line: n, status: a.states.Code(s.text("status")), short: l.isShort(s)}
	if !p.short {
		if meta, shown := s["merchant_meta"]; shown {
			s["merchant_meta"] = withoutLang(meta)
		}
		a.prints(p.fields[:], movingFields[:], s)
	}
	if !slices.ContainsFunc(ack.pictures, func(before picture) bool {
		return before.status == p.status && before.short == p.short && before.fields == p.fields
	}) {
		ack.pictures = append(ack.pictures, p)
	}
}

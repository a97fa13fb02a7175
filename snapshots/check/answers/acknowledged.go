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

// Rule 1, transactions as answers show them. Two answers must not show different fixed fields
// of one transaction. Once an answer has shown a transaction to a partner, no later line may
// answer that partner that the transaction is unknown (404).

// transactionAnswer is what the answers say about one transaction. It holds hashes of the
// fields, because the file may name very many transactions.
type transactionAnswer struct {
	line    uint32
	found   bool
	partner int64 // the partner that was answered; 0: the file does not say
	fixed   [len(fixedFields)]uint32
	states  []observedState // each observed state once, in the order of the first answers
	refunds []ledger.ID     // each refund id that an answer named

	shownRefunds []shownRefund
	refunded     money.Amount // the largest refunded amount that an answer showed
}

// observedState holds hashes of the fields that depend on the status.
type observedState struct {
	line   uint32
	status uint8
	short  bool // a short answer: it shows the status only
	fields [len(movingFields)]uint32
}

// The fields of a transaction that its record determines. The fixed fields are set when the
// transaction is created and never change; the short answer to a hosted create has them too.
// The moving fields depend on the status.
var (
	fixedFields  = [...]string{"id", "txid", "type", "amount", "currency", "env", "started"}
	movingFields = [...]string{
		"error_description", "finished", "rrn", "return_id", "amount_with_fee", "amount_dest", "merchant_amount",
		"currency_dest", "currency_rate", "network", "network_dest", "scale", "scale_dest", "captured_amount",
		"route", "link_id", "description", "merchant_meta", "error_code", "payment_method", "customer",
	}
)

// object is a JSON object in an answer.
type object map[string]jsontext.Value

// parseObject parses a JSON object; nil if the value is not one.
func parseObject(value []byte) object {
	var s object
	if json.Unmarshal(value, &s) != nil {
		return nil
	}
	return s
}

// text returns a field that is a string; empty for any other kind of value.
func (s object) text(name string) string {
	var text string
	if v := s[name]; v.Kind() != '"' || json.Unmarshal(v, &text) != nil {
		return ""
	}
	return text
}

// canonical returns the one form of a value, so that equal values have equal bytes. Whole
// numbers stay as written, because canonical JSON rounds numbers beyond 2^53. The form of an
// absent value is empty.
func canonical(v jsontext.Value) string {
	own := jsontext.Value(bytes.Clone(v))
	if len(v) == 0 || own.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		return string(v)
	}
	return string(own)
}

// hashOf returns a hash of a value's canonical form.
func (a *acknowledgements) hashOf(v jsontext.Value) uint32 {
	return uint32(maphash.String(a.seed, canonical(v)))
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

func joined(names []string) string { return strings.Join(names, ", ") }

// readList reads an answer that lists transactions.
func (c *Check) readList(n uint32, l *answerLine) bool {
	var response struct {
		Data []object `json:"data"`
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

// moves are the operations whose path has the transaction's id after the operation's name
// (specification, "Endpoints").
var moves = [...]string{"commit/", "continue/", "additional_params_for_auth/", "choose_target_destination/"}

// readTransaction reads an answer about one transaction. If the path continues after the
// transaction's id, the answer may show a different transaction.
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
		return exact && c.noteUnknown(n, id, l)
	case 200, 201:
		s := parseObject(embedded(l.Response))
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

// asksForRefund tells whether the line is a request for a refund.
func (l *answerLine) asksForRefund() bool {
	var body struct {
		Params struct {
			Type string `json:"type"`
		} `json:"params"`
	}
	return l.Method == "PUT" && json.Unmarshal(embedded(l.Body), &body) == nil && body.Params.Type == "refund"
}

// noteUnknown records that a transaction was answered as unknown. That is wrong for the partner
// to which an earlier answer showed the transaction. It is right for another partner of the
// organization, if the file names partners.
func (c *Check) noteUnknown(n uint32, id ledger.ID, l *answerLine) bool {
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

// acknowledge records what an answer says about a transaction. Two answers may show different
// statuses of it, but not different fixed fields.
func (c *Check) acknowledge(n uint32, l *answerLine, s object) bool {
	id, err := uuid.Parse(s.text("id"))
	status := s.text("status")
	if err != nil || status == "" {
		return false
	}
	a := &c.answers
	var fixed [len(fixedFields)]uint32
	a.hashesOf(fixed[:], fixedFields[:], s)
	at, again := a.index[scan.Place{Org: l.org, ID: id}]
	if !again {
		at = a.slab.Add(transactionAnswer{line: n, partner: l.PartnerID, fixed: fixed})
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
	ack.noteState(a, n, l, s)
	c.readRefunds(n, id, ack, s)
	if refund, err := uuid.Parse(s.text("refund_id")); err == nil && !slices.Contains(ack.refunds, refund) {
		ack.refunds = append(ack.refunds, refund)
	}
	if refunded, err := money.Parse(s.text("refunded_amount")); err == nil && ack.refunded.Less(refunded) {
		ack.refunded = refunded
	}
	return true
}

// noteState records the state that an answer shows, unless an earlier answer showed the same
// one. The short answer to a hosted create shows the status only.
func (ack *transactionAnswer) noteState(a *acknowledgements, n uint32, l *answerLine, s object) {
	p := observedState{line: n, status: a.states.Code(s.text("status")), short: l.isShort(s)}
	if !p.short {
		if meta, shown := s["merchant_meta"]; shown {
			s["merchant_meta"] = withoutLang(meta)
		}
		a.hashesOf(p.fields[:], movingFields[:], s)
	}
	if !slices.ContainsFunc(ack.states, func(before observedState) bool {
		return before.status == p.status && before.short == p.short && before.fields == p.fields
	}) {
		ack.states = append(ack.states, p)
	}
}

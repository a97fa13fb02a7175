package answers

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"mizan/ledger"
	ledgerdirectory "mizan/ledger/directory"
	"mizan/ledger/jsonform"
	"mizan/ledger/payment"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
	"mizan/snapshots/check/transactions"
)

// Rule 1, transactions. A stored transaction has had the status that an answer shows, and in
// that status its JSON form is equal to the answer, except for members that are stored nowhere
// (transactions_past.go). Once an answer has shown a transaction to a partner, no later line may
// answer that partner that the transaction is unknown (404).

// transactionAnswer is what the answers say about one transaction.
type transactionAnswer struct {
	line    uint32
	found   bool
	partner int64              // the partner that was answered; 0: the file does not say
	shown   []shownTransaction // each state once, in the order of the first answers
}

// shownTransaction is a transaction as answers show it.
type shownTransaction struct {
	line    uint32
	status  uint8
	created bool // the answer to a create, which is short for a hosted transaction
	lang    string
	members members // without the refunds
	refunds []shownRefund
}

// shownRefund is an element of refunds.
type shownRefund struct {
	id     ledger.ID
	status uint8
	hash   uint32
}

// readList reads an answer that lists transactions.
func (c *Check) readList(n uint32, l *answerLine) bool {
	list, _ := l.rows()
	any := false
	for _, s := range list {
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

// acknowledge records what an answer says about a transaction; false if it shows none.
func (c *Check) acknowledge(n uint32, l *answerLine, s object) bool {
	id, err := uuid.Parse(s.text("id"))
	if err != nil || s.text("status") == "" {
		return false
	}
	a := &c.answers
	place := scan.Place{Org: l.org, ID: id}
	at, again := a.index[place]
	if !again {
		at = a.slab.Add(transactionAnswer{line: n})
		a.index[place] = at
	}
	ack := a.slab.At(at)
	if ack.partner == 0 {
		ack.partner = l.PartnerID
	}
	if l.IdempotencyKey != "" && l.Method != "GET" && !l.named {
		a.keyed = append(a.keyed, keyedAnswer{n, l.org, l.IdempotencyKey, ledger.Source{Kind: ledger.Transaction, ID: id}})
	}
	path, _, _ := strings.Cut(l.Path, "?")
	now := shownTransaction{
		line: n, status: a.states.Code(s.text("status")), created: l.Method == "POST" && path == transactionsPath,
		lang: parseObject(s["merchant_meta"]).text(jsonform.MetaLang),
	}
	now.refunds, now.members = a.readRefunds(s), a.membersOf(s)
	if !slices.ContainsFunc(ack.shown, func(before shownTransaction) bool {
		return before.status == now.status && before.created == now.created && before.lang == now.lang &&
			before.members.equal(now.members) && slices.Equal(before.refunds, now.refunds)
	}) {
		ack.shown = append(ack.shown, now)
	}
	return true
}

// readRefunds removes the refunds from an answer and returns them. They are compared one by one,
// because a record drops failed refunds to make room.
func (a *acknowledgements) readRefunds(s object) (refunds []shownRefund) {
	var list []jsontext.Value
	if json.Unmarshal(s["refunds"], &list) != nil {
		return nil
	}
	for _, value := range list {
		one := parseObject(value)
		id, err := uuid.Parse(one.text("refund_id"))
		if err != nil {
			return nil
		}
		refunds = append(refunds, shownRefund{id, a.states.Code(one.text("status")), a.hashOf(value)})
	}
	delete(s, "refunds")
	return refunds
}

// CompareTransaction compares a stored transaction with the answers about it.
func (c *Check) CompareTransaction(r *scan.Record, p *payment.Record) {
	a := &c.answers
	if !a.given {
		return
	}
	if p.TxID != "" {
		c.compareCreate(r, p)
	}
	at, acknowledged := a.index[scan.Place{Org: r.Organization.ID, ID: p.ID}]
	if !acknowledged {
		return
	}
	ack := a.slab.At(at)
	ack.found, ack.partner = true, p.Partner
	for i := range ack.shown {
		shown := &ack.shown[i]
		status := payment.Status(a.states.Names[shown.status])
		if !transactions.WasIn(r, status) || payment.Machine.Final(status) && p.Status != status {
			c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v was answered as %q and is %q", shown.line, p.ID, status, p.Status)
			continue
		}
		was := past{c, r, p, shown, status}
		if wrong := was.compareShown(); wrong != nil {
			c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v was answered as %q with another %s than it had", shown.line, p.ID, status, joined(wrong))
		}
	}
	asked := int(r.History.Intents[scan.CallRefund])
	if missing := a.countDropped(p, ack); missing > max(0, asked-len(p.Refunds)) && asked < scan.MaxCounted {
		c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v was answered with %d refunds that it has not, and asked for %d in all", ack.line, p.ID, missing, asked)
	}
}

// compareShown returns the names of the members in which an answer differs from the forms that
// the transaction may have had in the status: those of the form from which it differs least.
func (was *past) compareShown() (wrong []string) {
	then := was.record()
	view := jsonform.TransactionView{Started: was.r.Stamp.Started}
	if ledgerdirectory.IsLanguage(was.shown.lang) {
		view.Lang = was.shown.lang
	}
	except := was.undetermined()
	wrong = was.differing(jsonform.AppendTransaction(nil, then, &view), except)
	try := func(form []byte) {
		if names := was.differing(form, except); len(names) < len(wrong) {
			wrong = names
		}
	}
	if was.shown.created && then.Hosted {
		try(jsonform.AppendHosted(nil, then, &view))
	}
	if then.RailMeta != nil { // the rail may have sent its keys after the answer
		then.RailMeta = nil
		try(jsonform.AppendTransaction(nil, then, &view))
	}
	return wrong
}

// dropped tells whether a record may have dropped a refund to make room for a newer one.
func (a *acknowledgements) dropped(p *payment.Record, shown shownRefund) bool {
	return refundOf(p, shown.id) < 0 && a.states.Names[shown.status] != payment.RefundSucceeded.String()
}

// countDropped returns how many refunds answers have shown that the record dropped.
func (a *acknowledgements) countDropped(p *payment.Record, ack *transactionAnswer) int {
	dropped := make(map[ledger.ID]bool)
	for i := range ack.shown {
		for _, f := range ack.shown[i].refunds {
			if refundOf(p, f.id) < 0 {
				dropped[f.id] = true
			}
		}
	}
	return len(dropped)
}

// refundOf returns the place of a refund in a record; -1 if the record does not have it.
func refundOf(p *payment.Record, id ledger.ID) int {
	return slices.IndexFunc(p.Refunds, func(f payment.RefundRecord) bool { return f.ID == id })
}

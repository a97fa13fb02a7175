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
	"mizan/snapshots/check/contracts"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
	"mizan/snapshots/check/transactions"
)

// For rule 1 of the checker (acknowledged responses), this file checks responses about transactions. The stored
// transaction must have had the status that a response shows, and in that status its JSON form must have been equal
// to the response.

const transactionsPath = "/api/v1/transactions"

// shownTransaction is a transaction as one or more equal responses show it.
type shownTransaction struct {
	line             uint32
	status           uint8   // number of the status in receivedResponses.states
	isCreateResponse bool    // shown in the response to a create; that response is short if the payer pays on a hosted page
	lang             string  // the language in the response's merchant_meta
	members          members // all members except the refunds
	refunds          []shownRefund
}

// shownRefund is a refund as one response showed it.
type shownRefund struct {
	id     ledger.ID
	status uint8  // number of the status in receivedResponses.states
	hash   uint32 // hash of the refund's JSON
}

// actionPrefixes are the operations whose URL path names the operation before the transaction's id:
// /api/v1/transactions/commit/{id}.
var actionPrefixes = [...]string{"commit/", "continue/", "additional_params_for_auth/", "choose_target_destination/"}

// readTransactions reads a response about transactions. rest is the part of the URL path after transactionsPath.
func (c *Check) readTransactions(lineNumber uint32, rest string, l *responseLine) (known bool) {
	switch {
	case rest != "":
		return c.readTransaction(lineNumber, rest, l)
	case l.Method == "POST":
		c.readCreate(lineNumber, l)
		return true
	case l.Method == "GET" && *l.Status == 200:
		list, _ := l.shownObjects(true)
		for _, object := range list {
			known = c.noteTransaction(lineNumber, l, object) || known
		}
	}
	return known
}

// readTransaction reads a response about one transaction. rest is the part of the URL path after transactionsPath. If the path
// ends with the transaction's id, the response must show this transaction.
func (c *Check) readTransaction(lineNumber uint32, rest string, l *responseLine) bool {
	isUpdate := l.Method == "PUT"
	for _, prefix := range actionPrefixes {
		if remainder, found := strings.CutPrefix(rest, prefix); found && l.Method == "POST" {
			rest, isUpdate = remainder, true
		}
	}
	id, err := uuid.Parse(rest)
	endsWithID := err == nil && (isUpdate || l.Method == "GET")
	switch *l.Status {
	case 404:
		return endsWithID && c.answers.transactions.noteUnknown(c, lineNumber, l, rest, contracts.Variant{})
	case 200, 201:
		object := parseObject(decodeEmbedded(l.Response))
		known := c.noteTransaction(lineNumber, l, object)
		if endsWithID && object.text("id") != id.String() && (known || !isUpdate) {
			c.Report.Breach(findings.RuleAnswers, "line %d: the response does not show transaction %v", lineNumber, id)
		}
		if known && l.asksForRefund() && object.text("refund_id") == "" {
			c.Report.Breach(findings.RuleAnswers, "line %d: the response to a refund of transaction %v names none", lineNumber, id)
		}
		return known || endsWithID && !isUpdate
	}
	return false
}

// asksForRefund tells whether the request asks for a refund.
func (l *responseLine) asksForRefund() bool {
	params := parseObject(parseObject(decodeEmbedded(l.Body))["params"])
	return l.Method == "PUT" && params.text("type") == "refund"
}

// noteTransaction records a transaction as a response shows it, unless an earlier response showed the transaction with the same
// content. It returns false if the response shows no transaction.
func (c *Check) noteTransaction(lineNumber uint32, l *responseLine, object jsonObject) bool {
	a, status := &c.answers, object.text("status")
	if status == "" {
		return false
	}
	record := a.transactions.findOrAdd(c, lineNumber, l, object, contracts.Variant{})
	if record == nil {
		return false
	}
	path, _, _ := strings.Cut(l.Path, "?")
	shown := shownTransaction{
		line: lineNumber, status: a.states.Code(status), isCreateResponse: l.Method == "POST" && path == transactionsPath,
		lang: parseObject(object["merchant_meta"]).text(jsonform.MetaLang),
	}
	shown.refunds, shown.members = a.readRefunds(object), a.membersOf(object)
	if !slices.ContainsFunc(record.shown, func(earlier shownTransaction) bool {
		return earlier.status == shown.status && earlier.isCreateResponse == shown.isCreateResponse && earlier.lang == shown.lang &&
			earlier.members.equal(shown.members) && slices.Equal(earlier.refunds, shown.refunds)
	}) {
		record.shown = append(record.shown, shown)
	}
	return true
}

// readRefunds removes the refunds from a response and returns them. Refunds are compared one by one,
// because a transaction's record drops failed refunds to make room for others.
func (r *receivedResponses) readRefunds(object jsonObject) (refunds []shownRefund) {
	var list []jsontext.Value
	if json.Unmarshal(object["refunds"], &list) != nil {
		return nil
	}
	for _, value := range list {
		refund := parseObject(value)
		id, err := uuid.Parse(refund.text("refund_id"))
		if err != nil {
			return nil
		}
		refunds = append(refunds, shownRefund{id, r.states.Code(refund.text("status")), r.hashOf(value)})
	}
	delete(object, "refunds")
	return refunds
}

// CompareTransaction compares a stored transaction with the responses about it.
func (c *Check) CompareTransaction(r *scan.Record, p *payment.Record) {
	a := &c.answers
	if !a.hasAnswers {
		return
	}
	if p.TxID != "" {
		c.compareCreate(r, p)
	}
	record := a.transactions.markFound(c, r.Organization.ID, p.ID, p.Partner)
	if record == nil {
		return
	}
	droppedIDs := make(map[ledger.ID]bool)
	for i := range record.shown {
		shown := &record.shown[i]
		past := transactions.PastResponse{Scan: c.Scan, Record: r, Stored: p, Status: payment.Status(a.states.Names[shown.status])}
		for _, refund := range shown.refunds {
			past.Refunds, past.Pending = append(past.Refunds, refund.id), a.states.Names[refund.status] == payment.RefundRequested.String()
			if past.IsDropped(refund.id) {
				droppedIDs[refund.id] = true
			}
		}
		if !past.WasInStatus() {
			c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v was answered as %q and is %q", shown.line, p.ID, past.Status, p.Status)
		} else if names := a.transactionDiffers(&past, shown); names != nil {
			c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v was answered as %q with another %s than it had", shown.line, p.ID, past.Status, joinNames(names))
		}
	}
	if count := int(r.History.Intents[scan.CallRefund]); len(droppedIDs) > max(0, count-len(p.Refunds)) && count < scan.MaxCounted {
		c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v was answered with %d refunds that it does not have, and %d were asked for", record.line, p.ID, len(droppedIDs), count)
	}
}

// transactionDiffers compares a response with each form that the transaction may have had. It returns the names of the members
// in which the response differs from the most similar form. If a form is equal to the response, it returns no names.
func (r *receivedResponses) transactionDiffers(past *transactions.PastResponse, shown *shownTransaction) (names []string) {
	record := past.PastRecord()
	view := jsonform.TransactionView{StartedAt: past.Record.Header.StartedAt}
	if ledgerdirectory.IsLanguage(shown.lang) {
		view.Lang = shown.lang
	}
	var forms [][]byte
	if shown.isCreateResponse && record.Hosted {
		forms = append(forms, jsonform.AppendHosted(nil, record, &view))
	}
	railMetas, actions := [][]byte{record.RailMeta}, []*payment.Action{nil}
	if record.RailMeta != nil {
		railMetas = append(railMetas, nil) // also without metadata of the provider, which may have arrived after the response
	}
	if action := past.Action(); action != nil {
		actions = append(actions, action) // once the payer's time to act has ended, the form without an action is right too
	}
	for _, record.RailMeta = range railMetas {
		for _, view.Action = range actions {
			forms = append(forms, jsonform.AppendTransaction(nil, record, &view))
		}
	}
	excluded := past.UncomparedMembers()
	for i, form := range forms {
		object := parseObject(form)
		refunds := r.readRefunds(object)
		differing := r.differingNames(r.membersOf(object), shown.members, excluded)
		if !slices.EqualFunc(refunds, shown.refunds, func(stored, shown shownRefund) bool {
			return stored == shown || stored.id == shown.id && past.IsDropped(shown.id) && r.states.Names[shown.status] != payment.RefundSucceeded.String()
		}) {
			differing = append(differing, "refunds")
		}
		if i == 0 || len(differing) < len(names) {
			names = differing
		}
	}
	return names
}

package answers

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
	"mizan/snapshots/check/transactions"
)

// Rule 1, transactions as they are stored. A stored transaction is equal to the answer in every
// field that its record and the shown status determine, and it has had that status. The answer
// to a hosted create may be short. The stored refunded amount is at least the shown one, and
// every refund that an answer named is stored.

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
	var fixed [len(fixedFields)]uint32
	a.hashesOf(fixed[:], fixedFields[:], fixedOf(r, p))
	if names := differing(fixedFields[:], fixed[:], ack.fixed[:]); names != "" {
		c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v is stored with another %s", ack.line, p.ID, names)
	}
	for i := range ack.states {
		c.compareState(r, p, &ack.states[i])
	}
	c.compareRefunds(r, p, ack)
	c.compareShownRefunds(p, ack)
}

// compareState compares a stored transaction with an answer that showed it in a status. The
// transaction must have had that status, with the fields that the answer showed.
func (c *Check) compareState(r *scan.Record, p *payment.Record, shown *observedState) {
	a := &c.answers
	status := payment.Status(a.states.Names[shown.status])
	if !transactions.WasIn(r, status) || payment.Machine.Final(status) && p.Status != status {
		c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v was answered as %q and is %q", shown.line, p.ID, status, p.Status)
		return
	}
	if shown.short {
		if !p.Hosted {
			c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v was answered in short, and is not hosted", shown.line, p.ID)
		}
		return
	}
	want := c.movingOf(r, p, status)
	var wrong []string
	for i, name := range movingFields {
		allowed, judged := want[name]
		if judged && !slices.ContainsFunc(allowed, func(v jsontext.Value) bool { return a.hashOf(v) == shown.fields[i] }) {
			wrong = append(wrong, name)
		}
	}
	if wrong != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v was answered as %q with another %s than it had", shown.line, p.ID, status, joined(wrong))
	}
}

// compareRefunds compares the refunds that answers named with the stored transaction, which
// names only the last refund and counts the others.
func (c *Check) compareRefunds(r *scan.Record, p *payment.Record, ack *transactionAnswer) {
	if p.Refunded.Less(ack.refunded) {
		c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v has refunded %v, and %v was answered", ack.line, p.ID, p.Refunded, ack.refunded)
	}
	asked, known := int(r.History.Intents[scan.CallRefund]), len(ack.refunds)
	if known == 0 || asked == scan.MaxCounted {
		return
	}
	if last := p.LastRefund(); last == nil || !slices.Contains(ack.refunds, last.ID) {
		known++
	}
	if known > asked {
		c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v was answered with %d refunds, and of the %d that are stored not all were among them",
			ack.line, p.ID, len(ack.refunds), asked)
	}
}

// fixedOf returns a record's fixed fields as answers must show them (specification,
// "Transaction").
func fixedOf(r *scan.Record, p *payment.Record) object {
	return object{
		"id": quoted(p.ID.String()), "txid": txidOf(p), "type": quoted(p.Type.String()),
		"amount": quoted(p.Amount.String()), "currency": quoted(string(p.Asset.Currency)), "env": quoted(p.Asset.Env.String()),
		"started": instant(r.Stamp.Started),
	}
}

// txidOf returns the caller's identifier as it was sent; null if the caller sent none.
func txidOf(p *payment.Record) jsontext.Value {
	if p.TxID == "" && p.EmptyTxID {
		return quoted("")
	}
	return quotedOrNull(p.TxID)
}

// alternatives lists the values that a field may have had; nil stands for an absent field.
type alternatives []jsontext.Value

func only(v jsontext.Value) alternatives { return alternatives{v} }

// movingOf returns the fields that a record showed while it had a status. It omits fields whose
// value at that time the record no longer determines.
func (c *Check) movingOf(r *scan.Record, p *payment.Record, status payment.Status) map[string]alternatives {
	want := make(map[string]alternatives, len(movingFields))
	termsOf(want, p, status)
	metaOf(want, p, status)
	paidByOf(want, p, status)
	want["finished"] = only(instant(c.finishedAs(r, p, status)))
	want["return_id"] = alternatives{nil}
	if status == payment.Reversed {
		want["return_id"] = only(quoted(p.ReturnID.String()))
	}
	want["link_id"] = alternatives{nil}
	if p.LinkID != (ledger.ID{}) {
		want["link_id"] = only(quoted(p.LinkID.String()))
	}
	want["captured_amount"] = alternatives{nil}
	if wasSettled(status) && !p.Captured.IsZero() {
		want["captured_amount"] = only(quoted(p.Captured.String()))
	}
	reasonOf(want, p, status)
	current := status == p.Status
	switch settled := wasSettled(status); {
	case status.Held() && !current, p.SettledLate && !settled: // the provider may have sent the number later
	case p.RRN != "" && (settled || current || status.Final()):
		want["rrn"] = only(quoted(p.RRN))
	default:
		want["rrn"] = alternatives{nil}
	}
	return want
}

// wasSettled tells whether money has moved in a transaction with the status.
func wasSettled(s payment.Status) bool {
	return s == payment.Charged || s == payment.Refunding || s == payment.Refunded || s == payment.Reversed
}

// termsOf adds the fields that the terminal's terms determine. They are computed on the whole
// amount until a part of it is captured. A hosted transaction has no terminal at first. A
// transaction in authorization may have had the terms of a terminal that refused it, so then
// nothing is added.
func termsOf(want map[string]alternatives, p *payment.Record, status payment.Status) {
	if status == payment.Authorizing && len(transactions.RefusedAttempts(p)) > 0 {
		return
	}
	routed := *p
	costs := transactions.PriceOnRecord(p)
	waiting := status == payment.Created && p.Status != status
	switch {
	case waiting:
		routed.Terminal, routed.Route, routed.Rate = ledger.ID{}, "", money.Rate{}
		costs = transactions.PriceOf(&routed, scan.BigAmount(p.Amount))
	case status != p.Status && !wasSettled(status):
		costs = transactions.PriceOf(p, scan.BigAmount(p.Amount))
	}
	p = &routed
	want["amount_with_fee"] = only(quoted(costs.WithFee.String()))
	want["amount_dest"] = only(quoted(costs.Dest.String()))
	want["merchant_amount"] = only(quoted(costs.Merchant.String()))
	want["route"] = only(quoted(p.Route))
	want["description"] = only(descriptionOf(p))
	want["currency_dest"], want["currency_rate"] = only(quoted(string(p.Asset.Currency))), alternatives{nil}
	want["network_dest"], want["scale_dest"] = alternatives{nil}, alternatives{nil}
	if !p.Rate.IsZero() {
		want["currency_dest"], want["currency_rate"] = only(quoted(string(p.Settles.Currency))), only(quoted(p.Rate.String()))
		want["network_dest"], want["scale_dest"] = networkOf(p.Settles), scaleOf(p.Settles)
	}
	if !waiting { // the terminal may have named the network after the answer
		want["network"], want["scale"] = networkOf(p.Asset), scaleOf(p.Asset)
	}
}

func networkOf(a money.Asset) alternatives {
	if a.Network == "" {
		return alternatives{nil}
	}
	return only(quoted(string(a.Network)))
}

func scaleOf(a money.Asset) alternatives {
	if digits, resolved := a.Scale(); resolved {
		return only(jsontext.Value(strconv.Itoa(digits)))
	}
	return only(jsontext.Value("null"))
}

// descriptionOf returns the description that an answer shows once a terminal has been chosen:
// the terminal's own text precedes the client's (specification, "Transaction", rule 1).
func descriptionOf(p *payment.Record) jsontext.Value {
	switch {
	case p.Terminal == (ledger.ID{}):
	case p.ShownText != "":
		return quoted(p.ShownText)
	case p.Described:
		return quoted(p.Description)
	}
	return jsontext.Value("null")
}

// metaOf adds merchant_meta: the keys that the client sent and, before them, the rail's own
// keys. The record has only the last of the rail's keys. The service's own key is left out.
func metaOf(want map[string]alternatives, p *payment.Record, status payment.Status) {
	sent := withoutLang(p.MerchantMeta)
	switch {
	case len(p.RailMeta) == 0:
		want["merchant_meta"] = only(sent)
	case status == p.Status:
		want["merchant_meta"] = alternatives{sent, withoutLang(p.RailMeta, sent)}
	}
}

// reasonOf adds error_description, in each language of the service. It adds nothing in two
// cases: a refused capture leaves its reason on a held transaction, and a rail that corrects
// itself may replace its first reason.
func reasonOf(want map[string]alternatives, p *payment.Record, status payment.Status) {
	switch {
	case status.Held(), status != p.Status && status == payment.Rejected:
	case status == p.Status:
		want["error_code"] = only(codeOf(p.Failure))
		for _, lang := range languages {
			want["error_description"] = append(want["error_description"], quoted(p.Failure.Describe(lang)))
		}
	default:
		want["error_description"], want["error_code"] = only(quoted("")), only(jsontext.Value("null"))
	}
}

// codeOf returns error_code: null for a failure without a published code.
func codeOf(f payment.Failure) jsontext.Value {
	if !slices.Contains(payment.Codes(), f.Code) {
		return jsontext.Value("null")
	}
	return quoted(string(f.Code))
}

// paidByOf adds the customer as it was sent, and the payment method. A hosted transaction has
// no payment method until its payer opens it.
func paidByOf(want map[string]alternatives, p *payment.Record, status payment.Status) {
	null := jsontext.Value("null")
	want["customer"] = only(null)
	if len(p.Customer) != 0 {
		want["customer"] = only(p.Customer)
	}
	method := object{"type": quoted(p.Method)}
	if p.CardBIN != "" {
		method["brand"], method["bin"], method["last4"] = null, quoted(p.CardBIN), quoted(p.CardLast4)
		if brand := p.CardBrand(); brand != "" {
			method["brand"] = quoted(brand)
		}
	}
	shows, err := json.Marshal(method)
	if p.Method == "" || status == payment.Created && p.Status != status || err != nil {
		shows = null
	}
	want["payment_method"] = only(shows)
}

// languages are the languages of status descriptions (DECISIONS, "Payments").
var languages = [...]string{"en", "ru"}

// finishedAs returns the finish time that a transaction showed while it had the status.
func (c *Check) finishedAs(r *scan.Record, p *payment.Record, status payment.Status) ledger.Micros {
	switch {
	case status == p.Status, wasSettled(status) && p.Status != payment.Reversed:
		return r.Stamp.Finished
	case wasSettled(status):
		return c.finished(r, payment.Charged)
	case status.Final():
		return c.finished(r, status)
	}
	return 0
}

// finished returns the time at which a record finished with a status that it has since left; 0
// if it never did.
func (c *Check) finished(r *scan.Record, as payment.Status) (at ledger.Micros) {
	err := c.View.SourceEvents(r.Organization.ID, r.Source, func(e ledger.Event) (bool, error) {
		if e.To == string(as) && transactions.Finishes(payment.Status(e.From), as) {
			at = e.Booked
		}
		return at == 0, nil
	})
	if err != nil {
		c.Report.Breach(findings.RuleStates, "organization %v: %s: %v", r.Organization.ID, scan.Named(r.Source), err)
	}
	return at
}

// withoutLang merges the members of several objects, of which a later one wins, and removes the
// member that the service sets itself (specification, "Transaction", rule 5).
func withoutLang(objects ...jsontext.Value) jsontext.Value {
	all := make(object)
	for _, object := range objects {
		if len(object) != 0 && json.Unmarshal(object, &all) != nil {
			return object
		}
	}
	delete(all, "lang")
	merged, err := json.Marshal(all)
	if err != nil {
		return objects[0]
	}
	return merged
}

func quoted(text string) jsontext.Value {
	value, _ := jsontext.AppendQuote(nil, text) // a client cannot have sent text that is not UTF-8
	return value
}

func quotedOrNull(text string) jsontext.Value {
	if text == "" {
		return jsontext.Value("null")
	}
	return quoted(text)
}

// instantLayout is the format of times in answers.
const instantLayout = "2006-01-02T15:04:05.000000-07:00"

func instant(at ledger.Micros) jsontext.Value {
	if at == 0 {
		return jsontext.Value("null")
	}
	return quoted(at.Time().Format(instantLayout))
}

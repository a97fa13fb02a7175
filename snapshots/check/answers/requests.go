package answers

import (
	"cmp"
	"slices"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 1 of the checker (acknowledged responses), this file checks the outcomes of requests. A create is the POST of a
// transaction. If a create was refused, there must be no transaction with its txid or idempotency key. If a create got no
// response, there must be the requested transaction or none. The claim on an idempotency key (the row that makes the key
// unique) must name the transaction that the response showed.

// outcome summarizes the outcomes of all creates with one txid, or of all requests with one idempotency key.
type outcome struct {
	succeeded, unknown, refused bool     // whether any of the requests succeeded, had an unknown outcome, or was refused
	line                        uint32   // the first line of the answers file with such a request
	requests                    []uint64 // hashes of the requested transactions, except refused ones
}

// keyOutcome is the outcome of all requests with one idempotency key of a scope.
type keyOutcome struct {
	outcome
	org        ledger.ID
	scope, key string
}

// keyedResponse says which record a request with an idempotency key created or changed, according to the
// response. Creates with a txid are left out: if a transaction with the txid exists already, the service
// returns it, and the key stays unused.
type keyedResponse struct {
	line   uint32
	org    ledger.ID
	key    string
	source ledger.Source
}

// readCreate reads a line with a create of a transaction, with or without a response.
func (c *Check) readCreate(lineNumber uint32, l *responseLine) {
	a, params := &c.answers, parseObject(parseObject(decodeEmbedded(l.Body))["params"])
	txid := params.text("txid")
	l.hasTxID = txid != ""
	if *l.Status == 201 {
		object := parseObject(decodeEmbedded(l.Response))
		if !c.noteTransaction(lineNumber, l, object) {
			c.Report.Breach(findings.RuleAnswers, "line %d: the response names no transaction", lineNumber)
		}
		if l.hasTxID && object.text("txid") != txid {
			c.Report.Breach(findings.RuleAnswers, "line %d: the response shows another txid than was asked for", lineNumber)
		}
	}
	if params == nil {
		return // the line lacks the parameters of the request, so it is not known which transaction was requested
	}
	request := a.hash(params.text("type"), params.text("amount"), cmp.Or(params.text("currency"), "RUB"), cmp.Or(params.text("env"), "prod"))
	if l.hasTxID {
		key := a.hash(l.org.String(), txid)
		if a.createOutcomes[key] == nil {
			a.createOutcomes[key] = &outcome{line: lineNumber}
		}
		a.createOutcomes[key].add(*l.Status, request)
	}
	if l.PartnerID != 0 {
		c.noteKey(lineNumber, l, actors.PartnerKeyScope(l.PartnerID), request)
	}
}

// noteKey records the outcome of a request with an idempotency key. It returns false if the request had no key, or was refused
// because of a conflict.
func (c *Check) noteKey(lineNumber uint32, l *responseLine, scope string, request uint64) bool {
	const conflict = 409 // the key was used for another request, or the record's state forbids this request
	if l.IdempotencyKey == "" || *l.Status == conflict {
		return false
	}
	a := &c.answers
	key := a.hash(l.org.String(), scope, l.IdempotencyKey)
	if a.keyOutcomes[key] == nil {
		a.keyOutcomes[key] = &keyOutcome{outcome{line: lineNumber}, l.org, scope, l.IdempotencyKey}
	}
	a.keyOutcomes[key].add(*l.Status, request)
	return true
}

// add adds the outcome of one request. The hash of a refused request is not stored in o.requests, because no stored transaction
// may match a refused request.
func (o *outcome) add(status int, request uint64) {
	switch {
	case status == 200 || status == 201:
		o.succeeded = true
	case status >= 400 && status < 500:
		o.refused = true
		return
	default:
		o.unknown = true
	}
	if !slices.Contains(o.requests, request) {
		o.requests = append(o.requests, request)
	}
}

// compareCreate compares a stored transaction with the creates that have its txid.
func (c *Check) compareCreate(r *scan.Record, p *payment.Record) {
	if o := c.answers.createOutcomes[c.answers.hash(r.Organization.ID.String(), p.TxID)]; o != nil {
		c.compareRequest(o, p)
	}
}

// compareRequest compares a stored transaction with the creates that have its txid or key. If one of the creates succeeded,
// compareRequest compares nothing.
func (c *Check) compareRequest(o *outcome, p *payment.Record) {
	a := &c.answers
	switch {
	case o.succeeded:
	case !o.unknown && o.refused:
		c.Report.Breach(findings.RuleAnswers, "line %d: the create was refused, but transaction %v has its key", o.line, p.ID)
	case !slices.Contains(o.requests, a.hash(p.Type.String(), p.Amount.String(), string(p.Asset.Currency), p.Asset.Env.String())):
		c.Report.Breach(findings.RuleAnswers, "line %d: there was no response, but transaction %v is not what was asked for", o.line, p.ID)
	}
}

// checkKeys looks up the records for which idempotency keys were used. If a request was refused, its key must name no
// record. If a request got no response, its key may name only a record that was requested.
func (c *Check) checkKeys() {
	a := &c.answers
	for _, o := range a.keyOutcomes {
		record, found := c.claimedBy(o.line, o.org, o.scope, o.key)
		switch {
		case !found || o.succeeded:
		case o.scope == actors.UserKeyScope && o.refused && !o.unknown:
			c.Report.Breach(findings.RuleAnswers, "line %d: the request was refused, but its key names %s", o.line, scan.NameOf(record))
		case o.scope != actors.UserKeyScope && record.Kind == ledger.Transaction:
			stored, found, err := c.View.Record(o.org, record)
			if err != nil || !found {
				continue // rule 4 (claims, lists, numbers) reports the claim
			}
			if p, err := paymentcodec.Decode(stored.Payload); err == nil {
				c.compareRequest(&o.outcome, p)
			}
		}
	}
}

// checkKey tells whether an idempotency key names the record that the response to the key's request shows. If not, checkKey
// reports the key.
func (c *Check) checkKey(keyed *keyedResponse, scope string) bool {
	record, found := c.claimedBy(keyed.line, keyed.org, scope, keyed.key)
	if !found || record.ID != keyed.source.ID {
		c.Report.Breach(findings.RuleAnswers, "line %d: the idempotency key of the request for %s does not name it any more", keyed.line, scan.NameOf(keyed.source))
		return false
	}
	return true
}

// claimedBy returns the record for which an idempotency key of a scope was used.
func (c *Check) claimedBy(line uint32, org ledger.ID, scope, key string) (record ledger.Source, found bool) {
	owner, found, err := c.View.Claim(org, ledger.ClaimIdempotency, scope+"/"+key)
	if err != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: its idempotency key can't be looked for: %v", line, err)
	}
	if !found {
		return record, false
	}
	return scan.KeyOwner(owner)
}

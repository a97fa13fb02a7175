package answers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mizan/actors"
	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/jsonform"
	"mizan/ledger/schema"
	"mizan/posting"
	"mizan/snapshots/check/contracts"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 1 of the checker (acknowledged responses), this file checks responses about contracts. A product has two
// readings, a secular and a religious form of its API, each with its own paths. The contract must have entered the
// shown status at the shown instant, because of the requested action. The shown sums must be the sums that the
// contract's entries had moved by then. If the contract has had no later event, its JSON form must be equal to the
// response. If it has had one, the members that an event may set are compared only if the request has a cached reply.
// The JSON form of the cached reply must be equal to the response.

// contractPath is a parsed URL path. It names a contract, or the list of a product's contracts.
type contractPath struct {
	variant contracts.Variant
	id      string // empty: the path is that of the list
	action  string // an action, or the part of the contract that is read
}

// contractsPathPrefix returns the prefix that the URL paths of all contracts with this reading have.
func contractsPathPrefix(reading *contract.Reading) string { return "/api/v1" + reading.Path + "/" }

// parseContractPath parses the URL path of a contract. ok is false if it is not the path of a contract.
func parseContractPath(path string) (target contractPath, ok bool) {
	for _, reading := range contract.Readings {
		rest, matches := strings.CutPrefix(path, contractsPathPrefix(reading))
		if !matches {
			continue
		}
		productName, rest, _ := strings.Cut(rest, "/")
		target.id, target.action, _ = strings.Cut(rest, "/")
		target.variant = contracts.Variant{Product: contract.Find(reading, productName), Reading: reading}
		return target, target.variant.Product != nil && !strings.Contains(target.action, "/")
	}
	return target, false
}

// shownContract is a contract as one response showed it.
type shownContract struct {
	line         uint32
	inList       bool             // shown in a list: sums and sentMetadata are not set
	changedAt    ledger.Micros    // time of the last change
	action       contract.Action  // the requested action; empty if the request only read the contract
	sums         scan.Fingerprint // fingerprint of the control totals, which are the columns that show moved amounts
	sentMetadata uint32           // hash of the metadata without the keys that the service adds
	members      members
}

// readContract reads a line about contracts. It returns false if the line is not compared.
func (c *Check) readContract(lineNumber uint32, target contractPath, l *responseLine) bool {
	hasKey := l.Method == "POST" && c.noteKey(lineNumber, l, actors.UserKeyScope, 0)
	switch {
	case *l.Status == 404 && target.id != "":
		return c.answers.contracts.noteUnknown(c, lineNumber, l, target.id, target.variant) || hasKey
	case !l.succeeded(target.id == ""), l.Method == "GET" && target.action != "":
		return hasKey
	}
	isList := target.id == "" && l.Method == "GET"
	records, ok := l.shownObjects(isList)
	for _, object := range records {
		ok = c.noteContract(lineNumber, target, l, object, isList) && ok
	}
	if !ok {
		c.Report.Breach(findings.RuleAnswers, "line %d: the response shows no contract, or another one than was asked for", lineNumber)
	}
	return !ok || len(records) > 0
}

// noteContract records the contract that a response shows. It returns false if the response shows no contract, or not the
// contract that the URL path names.
func (c *Check) noteContract(lineNumber uint32, target contractPath, l *responseLine, object jsonObject, inList bool) bool {
	a := &c.answers
	at, hasTime := parseInstant(object.text("updated_at"))
	if !hasTime || target.id != "" && object.text("id") != target.id {
		return false
	}
	record := a.contracts.findOrAdd(c, lineNumber, l, object, target.variant)
	if record == nil {
		return false
	}
	product, shown := target.variant.Product, shownContract{line: lineNumber, inList: inList, changedAt: at, members: a.membersOf(object)}
	if !inList {
		shown.sentMetadata = a.hashOf(withoutServiceKeys(product, object[contract.ClientMetadata.Name]))
		shown.sums = contracts.ShownTotals(c.OrganizationOf(l.org).Histories, product, l.data())
	}
	if l.Method == "POST" {
		known := true
		if shown.action = contract.Create; target.action != "" {
			shown.action, known = product.Action(target.variant.Reading, target.action)
		}
		if !known {
			c.Report.Breach(findings.RuleAnswers, "line %d: the path names an action that does not exist", lineNumber)
		}
	}
	record.shown = append(record.shown, shown)
	return true
}

// parseInstant parses a time in the format of the API's responses.
func parseInstant(text string) (ledger.Micros, bool) {
	at, err := time.Parse(schema.InstantLayout, text)
	return ledger.MicrosOf(at), err == nil
}

// withoutServiceKeys returns metadata as the client sent it, without the keys that the service adds.
func withoutServiceKeys(p *contract.Product, metadata jsontext.Value) jsontext.Value {
	sent := parseObject(metadata)
	for _, c := range p.Columns.Columns {
		if c.Visibility == schema.Metadata {
			delete(sent, c.Name)
		}
	}
	if len(sent) == 0 {
		return nil
	}
	return encodeJSON(sent)
}

// CompareContract compares a stored contract with the responses about it.
func (c *Check) CompareContract(r *scan.Record, p *contract.Record) {
	org := r.Organization.ID
	record := c.answers.contracts.markFound(c, org, p.ID, 0)
	if record == nil {
		return
	}
	if record.variant != (contracts.Variant{Product: p.Product, Reading: p.Reading}) {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v was shown with another product or reading than it has", record.line, p.ID)
		return
	}
	current, err := c.asShown(org, p, r.Header.StartedAt, r.Header.UpdatedAt)
	if err != nil {
		c.Report.Breach(findings.RuleStates, "organization %v: %v", org, err)
	}
	pastEvents, err := contracts.PastEvents(c.Scan, r)
	if err != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: the events of contract %v can't be read: %v", record.line, p.ID, err)
	}
	sentMetadata := c.answers.hashOf(withoutServiceKeys(p.Product, contract.ClientMetadata.Get(p.Values)))
	for i := range record.shown {
		response := &record.shown[i]
		report := func(text string) {
			c.Report.Breach(findings.RuleAnswers, "line %d: contract %v was answered %s", response.line, p.ID, text)
		}
		eventIndex := slices.IndexFunc(pastEvents, func(e contracts.PastEvent) bool { return e.At == response.changedAt })
		switch {
		case eventIndex < 0:
			report("at an instant at which nothing happened to it")
			continue
		case response.action != "" && !slices.ContainsFunc(pastEvents[:eventIndex+1], func(e contracts.PastEvent) bool { return e.CausedBy(p.Product, response.action) }):
			report("after an action that has not happened")
		case !response.inList && pastEvents[eventIndex].Moved != response.sums:
			report("with other sums than its entries had moved by then")
		case !response.inList && sentMetadata != response.sentMetadata:
			report("with other metadata than was sent")
		}
		pastContract, excludedNames := *current, contracts.NotStored
		if pastContract.Status = pastEvents[eventIndex].To; response.changedAt != r.Header.UpdatedAt {
			excludedNames = contracts.NotStoredBefore(p.Product)
		}
		if names := c.contractDiffers(org, &pastContract, &r.Header, response, excludedNames); names != nil {
			report("with another " + joinNames(names) + " than it had")
		}
		if k := slices.IndexFunc(record.shown[:i], func(earlier shownContract) bool {
			return earlier.changedAt == response.changedAt && earlier.inList == response.inList
		}); k >= 0 {
			if names := c.answers.differingNames(record.shown[k].members, response.members, contracts.NotStored); names != nil {
				report(fmt.Sprintf("with another %s than line %d showed of the same instant", joinNames(names), record.shown[k].line))
			}
		}
	}
}

// asShown returns a contract as a response shows it. created and changed are the times of the contract's creation and last
// change.
func (c *Check) asShown(org ledger.ID, p *contract.Record, created, changed ledger.Micros) (*contract.Record, error) {
	shown := p.AsOf(created, changed.Date())
	return shown, contractactor.LoadSubscriptions(c.View, org, shown)
}

// contractDiffers returns the names of the members in which a response differs from the JSON form of a contract. It ignores the
// members in excludedNames.
func (c *Check) contractDiffers(org ledger.ID, p *contract.Record, header *posting.RecordHeader, response *shownContract, excludedNames []string) []string {
	view := jsonform.ContractView{Org: org, StartedAt: header.StartedAt, UpdatedAt: response.changedAt, Number: header.Number, InList: response.inList}
	form := c.answers.membersWritten(func(e *schema.Encoder) { jsonform.AppendContract(e, p, &view) })
	return c.answers.differingNames(form, response.members, excludedNames)
}

// compareReply compares a response about a contract with the cached reply to the same request. The cached reply has
// all columns of the contract as they were when the request was answered.
func (c *Check) compareReply(keyed *keyedResponse, record *shownRecord[shownContract]) {
	// The line has an idempotency key, so its response shows only one contract.
	response := &record.shown[slices.IndexFunc(record.shown, func(shown shownContract) bool { return shown.line == keyed.line })]
	reply := contractactor.ReplyID(keyed.org, actors.UserKeyScope+"/"+keyed.key)
	replyRecord, found, err := c.View.Record(keyed.org, ledger.Source{Kind: ledger.Reply, ID: reply})
	if err != nil || !found || !actors.ContractReply.Has(replyRecord.Payload) {
		c.Report.Breach(findings.RuleAnswers, "line %d: the cached reply to the request for contract %v is missing", keyed.line, keyed.source.ID)
		return
	}
	stored, found, err := c.View.Record(keyed.org, keyed.source)
	if c.Keyring == nil || !found || err != nil {
		return // without the keyring the reply can't be opened; a lost contract is reported elsewhere
	}
	id, payload, err := contractactor.OpenReply(c.Keyring, keyed.org, reply, replyRecord.Payload)
	if err != nil || id != keyed.source.ID {
		return // rule 3 (states of records) reports the fault in the reply
	}
	p, err := contract.ReadRecord(id, payload)
	if err != nil || record.variant != (contracts.Variant{Product: p.Product, Reading: p.Reading}) {
		return // rule 3 reports the fault in the reply
	}
	if p, err = c.asShown(keyed.org, p, stored.Header.StartedAt, response.changedAt); err != nil {
		return // rule 3 reports the fault in the register of certificate holders
	}
	if names := c.contractDiffers(keyed.org, p, &stored.Header, response, contracts.NotStored); names != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v was answered with another %s than its cached reply has", response.line, id, joinNames(names))
	}
}

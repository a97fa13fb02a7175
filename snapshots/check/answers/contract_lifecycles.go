package answers

import (
	"slices"
	"strconv"

	"mizan/actors"
	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/schema"
	"mizan/snapshots/check/contracts"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 1, contracts as they are stored. If no event has followed the answer, the stored
// contract is equal to it in every field. The answer to a request with an idempotency key is
// equal to the cached reply. Otherwise: the fields that the creation fixed are equal; the
// contract entered the shown status at the shown instant, by the requested action; and the
// shown sums are those that the contract's entries had moved by then.

// CompareContract compares a stored contract with the answers about it.
func (c *Check) CompareContract(r *scan.Record, p *contract.Record) {
	s := c.answers.contracts.index[scan.Place{Org: r.Organization.ID, ID: r.Source.ID}]
	if s == nil {
		return
	}
	p = c.contractAsShown(r.Organization.ID, p, r.Stamp.Started, r.Stamp.Updated)
	s.found = true
	if s.variant != (contracts.Variant{Product: p.Product, Reading: p.Reading}) {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v was answered as of another product or reading than it is of", s.line, p.ID)
		return
	}
	a := &c.answers
	var head [len(contractHead)]uint32
	a.hashesOf(head[:], contractHead[:], headOf(r, p))
	if names := differing(contractHead[:], head[:], s.head[:]); names != "" {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v is stored with another %s", s.line, p.ID, names)
	}
	stored, lived := a.columnHashes(p), c.pastEvents(r, s)
	for i := range s.states {
		was := &s.states[i]
		c.compareObserved(r, p, was, stored, lived)
		for k := range s.states[:i] {
			if before := &s.states[k]; before.at == was.at && before.fields != nil && was.fields != nil {
				c.compareFields(p, was, before.fields, "line "+strconv.FormatUint(uint64(before.line), 10)+" showed of the same instant", true)
				break
			}
		}
	}
}

// contractAsShown returns a stored contract as an answer at an instant shows it.
func (c *Check) contractAsShown(org ledger.ID, p *contract.Record, first, at ledger.Micros) *contract.Record {
	shown := p.AsOf(first, at.Date())
	if err := contractactor.Show(c.View, org, shown); err != nil {
		c.Report.Breach(findings.RuleStates, "organization %v: %v", org, err)
	}
	return shown
}

// columnHashes returns hashes of a contract's columns as answers show them.
func (a *acknowledgements) columnHashes(p *contract.Record) []uint32 {
	hashes := make([]uint32, len(p.Product.Columns.Columns))
	for i, column := range p.Product.Columns.Columns {
		hashes[i] = a.hashOf(valueOf(p, column))
	}
	return hashes
}

// compareFields compares the columns that an answer showed with the stored ones: all columns,
// or only those that never change after the contract was created.
func (c *Check) compareFields(p *contract.Record, was *observedContract, with []uint32, than string, all bool) {
	var names []string
	for i, column := range p.Product.Columns.Columns {
		if (all || stays(p.Product, column)) && isShown(column) && was.fields[i] != with[i] {
			names = append(names, column.Name)
		}
	}
	if names != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v was answered as %q with another %s than %s", was.line, p.ID, was.status, joined(names), than)
	}
}

// headOf returns a stored contract's head as answers show it.
func headOf(r *scan.Record, p *contract.Record) object {
	s := object{
		"id": quoted(p.ID.String()), "contract_number": quoted(p.Number(r.Stamp.Started, r.Stamp.Number)),
		"env": quoted(p.Asset.Env.String()), "inserted_at": instant(r.Stamp.Started),
	}
	if p.Reading == contract.Religious {
		s["product_type"] = quoted(p.Product.Variants[p.Reading].Name)
		s["organization_id"] = quoted(r.Organization.ID.String())
	}
	return s
}

// pastEvent is an event of a contract, with what the contract had put on the accounts of
// control totals up to that event.
type pastEvent struct {
	name   contract.Action
	to     contract.Status
	at     ledger.Micros
	shared scan.Fingerprint
}

// pastEvents returns a contract's events, oldest first. It returns none if every answer shows
// the current state, because no answer is compared with an event then.
func (c *Check) pastEvents(r *scan.Record, s *contractAnswer) []pastEvent {
	last := func(one observedContract) bool {
		return one.at == r.Stamp.Updated && (one.did == "" || one.fields == nil)
	}
	if !slices.ContainsFunc(s.states, func(one observedContract) bool { return !last(one) }) {
		return nil
	}
	var events []ledger.Event
	err := c.View.SourceEvents(r.Organization.ID, r.Source, func(e ledger.Event) (bool, error) {
		events = append(events, e)
		return true, c.Interrupted()
	})
	if err != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: the events of contract %v can't be read: %v", s.line, r.Source.ID, err)
		return nil
	}
	slices.Reverse(events)
	all, l := make([]pastEvent, 0, len(events)), new(contracts.Lifecycle)
	for i := range events {
		e := &events[i]
		if e.Name != string(contract.Continue) && e.Name != string(contract.Batch) {
			l.LastAction = contract.Action(e.Name)
		}
		if e.Entry != nil {
			l.AddControlTotals(r.Organization.Histories, e.Entry.Postings)
		}
		all = append(all, pastEvent{contract.Action(e.Name), contract.Status(e.To), e.Booked, l.Shared})
	}
	return all
}

// compareObserved compares a stored contract with one answer. If the answer shows the current
// state, all columns must be equal. Otherwise the event at the shown instant must confirm the
// status and the sums, and the columns that never change must be equal.
func (c *Check) compareObserved(r *scan.Record, p *contract.Record, was *observedContract, stored []uint32, lived []pastEvent) {
	current := was.at == r.Stamp.Updated
	wrong := func(what string) {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v was answered as %q%s", was.line, p.ID, was.status, what)
	}
	if !current || was.did != "" {
		i := slices.IndexFunc(lived, func(e pastEvent) bool { return e.at == was.at })
		switch {
		case i < 0:
			wrong(" at an instant at which nothing happened to it")
			return
		case lived[i].to != was.status:
			wrong(" when it was " + string(lived[i].to))
			return
		case was.did != "" && !slices.ContainsFunc(lived[:i+1], func(e pastEvent) bool { return leads(p.Product, was.did, e.name) }):
			wrong(" after an action that has not happened")
		case was.fields != nil && lived[i].shared != was.sums:
			wrong(" with other sums than its entries had moved by then")
		}
	} else if was.status != p.Status {
		wrong(", and is " + string(p.Status))
		return
	}
	if was.fields == nil {
		return
	}
	if was.sent != c.answers.hashOf(withoutOwn(p.Product, contract.Sent.Of(p.Values))) {
		wrong(" with other metadata than was sent")
	}
	c.compareFields(p, was, stored, "it has", current)
}

// leads tells whether the action may have caused the event.
func leads(p *contract.Product, action, event contract.Action) bool {
	if handler := p.Handler(action); handler != nil {
		return event == action || slices.Contains(handler.Transitions, event)
	}
	return event == action
}

// isShown tells whether answers show the column under its own name.
func isShown(c *schema.Column) bool {
	return c.Place != schema.Hidden && c.Place != schema.Metadata && !daily[c.Name]
}

// stays tells whether a column never changes after the contract was created. A review comes
// later, and the service adds keys to metadata.
func stays(p *contract.Product, c *schema.Column) bool {
	return c.Asked && c.Kind != contract.KindReview && c != contract.Sent.Column && !slices.Contains(changing[p], c.Name)
}

// noteStaffKey records the outcome of a staff member's write request that had an idempotency
// key; false if it had none.
func (c *Check) noteStaffKey(n uint32, l *answerLine) bool {
	const taken = 409 // another request has used the key, or the contract's state forbids the action
	if l.IdempotencyKey == "" || *l.Status == taken {
		return false
	}
	a := &c.answers
	key := a.hash(l.org.String(), l.IdempotencyKey)
	if a.contracts.keys[key] == nil {
		a.contracts.keys[key] = &keyOutcome{createOutcome: createOutcome{line: n}, org: l.org, key: l.IdempotencyKey}
	}
	of := a.contracts.keys[key]
	switch status := *l.Status; {
	case status == 200 || status == 201:
		of.succeeded = true
	case status >= 400 && status < 500:
		of.refused = true
	default:
		of.unknown = true
	}
	return true
}

// checkContracts reports contracts that answers showed and the store lacks, and idempotency
// keys that name a different contract than the answer did.
func (c *Check) checkContracts() {
	a := &c.answers.contracts
	for place, s := range a.index {
		if !s.found {
			c.Report.Breach(findings.RuleAnswers, "line %d: contract %v of organization %v is lost", s.line, place.ID, place.Org)
		}
	}
	for _, k := range a.keyed {
		if made, found := c.claimedBy(k.line, k.made.Org, actors.KeyOfStaff, k.key); !found || made.ID != k.made.ID {
			c.Report.Breach(findings.RuleAnswers, "line %d: the key that contract %v was asked for with names it no more", k.line, k.made.ID)
			continue
		}
		c.compareReply(k, a.index[k.made])
	}
	for _, of := range a.keys {
		if !of.refused || of.succeeded || of.unknown {
			continue
		}
		if made, found := c.claimedBy(of.line, of.org, actors.KeyOfStaff, of.key); found {
			c.Report.Breach(findings.RuleAnswers, "line %d: the request was refused, and its key names %s", of.line, scan.Named(made))
		}
	}
}

// compareReply compares an answer with the cached reply to the same request, which has all
// columns as they were then.
func (c *Check) compareReply(k keyedAnswer, s *contractAnswer) {
	i := slices.IndexFunc(s.states, func(one observedContract) bool { return one.line == k.line })
	was := &s.states[i] // a line with a key shows one contract
	reply := contractactor.ReplyID(k.made.Org, actors.KeyOfStaff+"/"+k.key)
	kept, found, err := c.View.Record(k.made.Org, ledger.Source{Kind: ledger.Reply, ID: reply})
	if err != nil || !found || !actors.ContractReply.Has(kept.Payload) {
		c.Report.Breach(findings.RuleAnswers, "line %d: what contract %v was answered with is not kept", k.line, k.made.ID)
		return
	}
	if c.Keyring == nil {
		return
	}
	id, stored, err := contractactor.OpenReply(c.Keyring, k.made.Org, reply, kept.Payload)
	if err != nil || id != k.made.ID {
		return // rule 3 reports the reply
	}
	p, err := contract.ReadRecord(id, stored)
	if err != nil || s.variant != (contracts.Variant{Product: p.Product, Reading: p.Reading}) {
		return // rule 3 reports the reply
	}
	o := c.Organizations[k.made.Org]
	h := o.Histories.Find(ledger.Source{Kind: ledger.Contract, ID: k.made.ID})
	if h == nil || was.fields == nil {
		return // the contract is lost, which is reported once
	}
	if p.Status != was.status {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v was answered as %q, and it is kept that it was %q", k.line, k.made.ID, was.status, p.Status)
	}
	c.compareFields(p, was, c.answers.columnHashes(c.contractAsShown(k.made.Org, p, h.Started, was.at)), "is kept of the answer", true)
}

package check

import (
	"slices"
	"strconv"

	"mizan/actors"
	acting "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
)

// meetContract compares a stored contract with what was answered of it.
func (c *answersCheck) meetContract(r *record, p *contract.Record) {
	s := c.answers.contracts.index[placed{r.organization.id, r.source.ID}]
	if s == nil {
		return
	}
	p = c.toldOf(r.organization.id, p, r.stamp.Started, r.stamp.Updated)
	s.found = true
	if s.variant != (variant{p.Product, p.Reading}) {
		c.report.breach(ruleAnswers, "line %d: contract %v was answered as of another product or reading than it is of", s.line, p.ID)
		return
	}
	a := &c.answers
	var head [len(contractHead)]uint32
	a.prints(head[:], contractHead[:], headOf(r, p))
	if names := differing(contractHead[:], head[:], s.head[:]); names != "" {
		c.report.breach(ruleAnswers, "line %d: contract %v is stored with another %s", s.line, p.ID, names)
	}
	stored, lived := a.printsOf(p), c.livedThrough(r, s)
	for i := range s.shown {
		was := &s.shown[i]
		c.meetShowing(r, p, was, stored, lived)
		for k := range s.shown[:i] {
			if before := &s.shown[k]; before.at == was.at && before.fields != nil && was.fields != nil {
				c.meetFields(p, was, before.fields, "line "+strconv.FormatUint(uint64(before.line), 10)+" showed of the same instant", true)
				break
			}
		}
	}
}

// toldOf is a stored contract as it was told of at an instant, in its detail.
func (c *answersCheck) toldOf(org ledger.ID, p *contract.Record, first, at ledger.Micros) *contract.Record {
	told := p.AsOf(first, at.Date())
	if err := acting.Show(c.view, org, told); err != nil {
		c.report.breach(ruleStates, "organization %v: %v", org, err)
	}
	return told
}

// printsOf are prints of a contract's columns as answers show them.
func (a *answers) printsOf(p *contract.Record) []uint32 {
	prints := make([]uint32, len(p.Product.Columns.Columns))
	for i, column := range p.Product.Columns.Columns {
		prints[i] = a.print(valueOf(p, column))
	}
	return prints
}

// meetFields compares what an answer showed of a contract with what there is: in all
// columns, or in those that stay as they were when it was made.
func (c *answersCheck) meetFields(p *contract.Record, was *showing, with []uint32, than string, all bool) {
	var names []string
	for i, column := range p.Product.Columns.Columns {
		if (all || stays(p.Product, column)) && isShown(column) && was.fields[i] != with[i] {
			names = append(names, column.Name)
		}
	}
	if names != nil {
		c.report.breach(ruleAnswers, "line %d: contract %v was answered as %q with another %s than %s", was.line, p.ID, was.status, joined(names), than)
	}
}

// headOf is a stored contract's head as answers show it.
func headOf(r *record, p *contract.Record) shown {
	s := shown{
		"id": quoted(p.ID.String()), "contract_number": quoted(p.Number(r.stamp.Started, r.stamp.Number)),
		"env": quoted(p.Asset.Env.String()), "inserted_at": instant(r.stamp.Started),
	}
	if p.Reading == contract.Religious {
		s["product_type"] = quoted(p.Product.Variants[p.Reading].Name)
		s["organization_id"] = quoted(r.organization.id.String())
	}
	return s
}

// livedEvent is an event of a contract, and what the contract has put on the accounts
// of tallies up to it.
type livedEvent struct {
	name   contract.Action
	to     contract.Status
	at     ledger.Micros
	shared meaning
}

// livedThrough are a contract's events, oldest first, where an answer is compared with
// them.
func (c *answersCheck) livedThrough(r *record, s *signed) []livedEvent {
	last := func(one showing) bool { return one.at == r.stamp.Updated && (one.did == "" || one.fields == nil) }
	if !slices.ContainsFunc(s.shown, func(one showing) bool { return !last(one) }) {
		return nil
	}
	var events []ledger.Event
	err := c.view.SourceEvents(r.organization.id, r.source, func(e ledger.Event) (bool, error) {
		events = append(events, e)
		return true, c.alive()
	})
	if err != nil {
		c.report.breach(ruleAnswers, "line %d: the events of contract %v can't be read: %v", s.line, r.source.ID, err)
		return nil
	}
	slices.Reverse(events)
	all, l := make([]livedEvent, 0, len(events)), new(life)
	for i := range events {
		e := &events[i]
		if e.Name != string(contract.Continue) && e.Name != string(contract.Batch) {
			l.did = contract.Action(e.Name)
		}
		if e.Entry != nil {
			l.tally(r.organization.histories, e.Entry.Postings)
		}
		all = append(all, livedEvent{contract.Action(e.Name), contract.Status(e.To), e.Booked, l.shared})
	}
	return all
}

// meetShowing compares a stored contract with one answer: of what it is by now with
// all that was shown, of what it was with what its events say, and with what never
// changes.
func (c *answersCheck) meetShowing(r *record, p *contract.Record, was *showing, stored []uint32, lived []livedEvent) {
	current := was.at == r.stamp.Updated
	wrong := func(what string) {
		c.report.breach(ruleAnswers, "line %d: contract %v was answered as %q%s", was.line, p.ID, was.status, what)
	}
	if !current || was.did != "" {
		i := slices.IndexFunc(lived, func(e livedEvent) bool { return e.at == was.at })
		switch {
		case i < 0:
			wrong(" at an instant at which nothing happened to it")
			return
		case lived[i].to != was.status:
			wrong(" when it was " + string(lived[i].to))
			return
		case was.did != "" && !slices.ContainsFunc(lived[:i+1], func(e livedEvent) bool { return leads(p.Product, was.did, e.name) }):
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
	if was.sent != c.answers.print(withoutOwn(p.Product, contract.Sent.Of(p.Values))) {
		wrong(" with other metadata than was sent")
	}
	c.meetFields(p, was, stored, "it has", current)
}

// leads tells whether an action may have been the event.
func leads(p *contract.Product, action, event contract.Action) bool {
	if handler := p.Handler(action); handler != nil {
		return event == action || slices.Contains(handler.Transitions, event)
	}
	return event == action
}

// isShown tells whether an answer has the column by its own name.
func isShown(c *contract.Column) bool {
	return c.Place != contract.Hidden && c.Place != contract.Metadata && !daily[c.Name]
}

// stays tells whether a column is what it was when the contract was made. A review is
// of later, and metadata gets keys of the service's own.
func stays(p *contract.Product, c *contract.Column) bool {
	return c.Asked && c.Kind != contract.Review && c != contract.Sent.Column && !slices.Contains(changing[p], c.Name)
}

// noteStaffKey notes how a write of a person's was answered that had an idempotency
// key; false: it had none.
func (c *answersCheck) noteStaffKey(n uint32, l *answerLine) bool {
	const taken = 409 // by another request, or the contract's state forbids it
	if l.IdempotencyKey == "" || *l.Status == taken {
		return false
	}
	a := &c.answers
	key := a.hash(l.org.String(), l.IdempotencyKey)
	if a.contracts.keys[key] == nil {
		a.contracts.keys[key] = &askedKey{asked: asked{line: n}, org: l.org, key: l.IdempotencyKey}
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

// checkSigned reports the contracts that were shown and are not there, and keys that
// name something else than they were answered with.
func (c *answersCheck) checkSigned() {
	a := &c.answers.contracts
	for place, s := range a.index {
		if !s.found {
			c.report.breach(ruleAnswers, "line %d: contract %v of organization %v is lost", s.line, place.id, place.org)
		}
	}
	for _, k := range a.keyed {
		if made, found := c.claimedBy(k.line, k.made.org, actors.KeyOfStaff, k.key); !found || made.ID != k.made.id {
			c.report.breach(ruleAnswers, "line %d: the key that contract %v was asked for with names it no more", k.line, k.made.id)
			continue
		}
		c.meetReply(k, a.index[k.made])
	}
	for _, of := range a.keys {
		if !of.refused || of.succeeded || of.unknown {
			continue
		}
		if made, found := c.claimedBy(of.line, of.org, actors.KeyOfStaff, of.key); found {
			c.report.breach(ruleAnswers, "line %d: the request was refused, and its key names %s", of.line, named(made))
		}
	}
}

// meetReply compares an answer with the one that is kept for its repetition: it has all
// columns as they were then.
func (c *answersCheck) meetReply(k keyedAnswer, s *signed) {
	i := slices.IndexFunc(s.shown, func(one showing) bool { return one.line == k.line })
	was := &s.shown[i] // a line with a key shows one contract
	reply := acting.ReplyID(k.made.org, actors.KeyOfStaff+"/"+k.key)
	kept, found, err := c.view.Record(k.made.org, ledger.Source{Kind: ledger.Reply, ID: reply})
	if err != nil || !found || !actors.ContractReply.Has(kept.Payload) {
		c.report.breach(ruleAnswers, "line %d: what contract %v was answered with is not kept", k.line, k.made.id)
		return
	}
	if c.keyring == nil {
		return
	}
	id, stored, err := acting.OpenReply(c.keyring, k.made.org, reply, kept.Payload)
	if err != nil || id != k.made.id {
		return // rule 3 says it of the reply
	}
	p, err := contract.ReadRecord(id, stored)
	if err != nil || s.variant != (variant{p.Product, p.Reading}) {
		return // rule 3 says it of the reply
	}
	o := c.organizations[k.made.org]
	h := o.histories.find(ledger.Source{Kind: ledger.Contract, ID: k.made.id})
	if h == nil || was.fields == nil {
		return // it is lost, which is said once
	}
	if p.Status != was.status {
		c.report.breach(ruleAnswers, "line %d: contract %v was answered as %q, and it is kept that it was %q", k.line, k.made.id, was.status, p.Status)
	}
	c.meetFields(p, was, c.answers.printsOf(c.toldOf(k.made.org, p, h.started, was.at)), "is kept of the answer", true)
}

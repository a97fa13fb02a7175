package answers

import (
	"slices"
	"strconv"

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

// Rule 1, contracts as they are stored. The contract entered the shown status at the shown
// instant, by the requested action; and the shown sums are those that its entries had moved by
// then. If no event has followed, its JSON form is equal to the answer. Otherwise the columns
// that an event may set are not compared, unless the answer's request has a cached reply, whose
// JSON form is equal to the answer then.

// daily lists the columns that change from day to day without any event.
var daily = []string{"days_past_due"}

// changing lists the columns that a creation may set and a later action may set again.
var changing = map[*contract.Product][]string{
	contract.Certificate: {"subscription_start", "subscription_end"},
	contract.Lease:       {"asset_serial_number"},
	contract.Deposit:     {"initial_amount", "term_months", "profit_sharing_ratio"},
}

// changeable returns the columns that may change after the contract was created: those that no
// creation sets, reviews, which come later, and metadata, to which the service adds keys.
func changeable(p *contract.Product) []string {
	names := slices.Concat(daily, changing[p])
	for _, c := range p.Columns.Columns {
		if !c.Asked || c.Kind == contract.KindReview || c == contract.Sent.Column {
			names = append(names, c.Name)
		}
	}
	return names
}

// CompareContract compares a stored contract with the answers about it.
func (c *Check) CompareContract(r *scan.Record, p *contract.Record) {
	org := r.Organization.ID
	s := c.answers.contracts[scan.Place{Org: org, ID: r.Source.ID}]
	if s == nil {
		return
	}
	s.found = true
	if s.variant != (contracts.Variant{Product: p.Product, Reading: p.Reading}) {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v was answered as of another product or reading than it is of", s.line, p.ID)
		return
	}
	shown, err := c.asShown(org, p, r.Stamp.Started, r.Stamp.Updated)
	if err != nil {
		c.Report.Breach(findings.RuleStates, "organization %v: %v", org, err)
	}
	lived, sent := c.pastEvents(r, s), c.answers.hashOf(withoutOwn(p.Product, contract.Sent.Of(p.Values)))
	for i := range s.shown {
		was := &s.shown[i]
		wrong := func(what string) {
			c.Report.Breach(findings.RuleAnswers, "line %d: contract %v was answered as %q%s", was.line, p.ID, was.status, what)
		}
		at := slices.IndexFunc(lived, func(e pastEvent) bool { return e.at == was.at })
		switch {
		case at < 0:
			wrong(" at an instant at which nothing happened to it")
			continue
		case lived[at].to != was.status:
			wrong(" when it was " + string(lived[at].to))
			continue
		case was.did != "" && !slices.ContainsFunc(lived[:at+1], func(e pastEvent) bool { return leads(p.Product, was.did, e.name) }):
			wrong(" after an action that has not happened")
		case !was.listed && lived[at].shared != was.sums:
			wrong(" with other sums than its entries had moved by then")
		case !was.listed && sent != was.sent:
			wrong(" with other metadata than was sent")
		}
		then, except := *shown, daily
		if then.Status = was.status; was.at != r.Stamp.Updated {
			except = changeable(p.Product)
		}
		c.compareContractForm(org, &then, &r.Stamp, was, except, "it has")
		if k := slices.IndexFunc(s.shown[:i], func(before shownContract) bool { return before.at == was.at && before.listed == was.listed }); k >= 0 {
			c.compareContractMembers(p.ID, s.shown[k].members, was, daily, "line "+strconv.FormatUint(uint64(s.shown[k].line), 10)+" showed of the same instant")
		}
	}
}

// asShown returns a contract as an answer at an instant shows it.
func (c *Check) asShown(org ledger.ID, p *contract.Record, first, at ledger.Micros) (*contract.Record, error) {
	shown := p.AsOf(first, at.Date())
	return shown, contractactor.Show(c.View, org, shown)
}

// compareContractForm compares an answer with the JSON form of a contract.
func (c *Check) compareContractForm(org ledger.ID, p *contract.Record, stamp *posting.Stamp, was *shownContract, except []string, than string) {
	e := schema.Encoder{Buf: []byte{'{'}}
	jsonform.AppendContract(&e, p, &jsonform.ContractView{Org: org, Started: stamp.Started, Updated: was.at, Number: stamp.Number, Listed: was.listed})
	e.Close('}')
	c.compareContractMembers(p.ID, c.answers.membersOf(parseObject(e.Buf)), was, except, than)
}

func (c *Check) compareContractMembers(id ledger.ID, m members, was *shownContract, except []string, than string) {
	if names := c.answers.differing(m, was.members, except); names != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v was answered as %q with another %s than %s", was.line, id, was.status, joined(names), than)
	}
}

// pastEvent is an event of a contract, with what the contract had put on the accounts of
// control totals up to that event.
type pastEvent struct {
	name   contract.Action
	to     contract.Status
	at     ledger.Micros
	shared scan.Fingerprint
}

// pastEvents returns a contract's events, oldest first.
func (c *Check) pastEvents(r *scan.Record, s *contractAnswer) []pastEvent {
	var events []ledger.Event
	err := c.View.SourceEvents(r.Organization.ID, r.Source, func(e ledger.Event) (bool, error) {
		events = append(events, e)
		return true, c.Interrupted()
	})
	if err != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: the events of contract %v can't be read: %v", s.line, r.Source.ID, err)
	}
	all, l := make([]pastEvent, 0, len(events)), new(contracts.Lifecycle)
	for i := range slices.Backward(events) {
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

// leads tells whether the action may have caused the event.
func leads(p *contract.Product, action, event contract.Action) bool {
	handler := p.Handler(action)
	return event == action || handler != nil && slices.Contains(handler.Transitions, event)
}

// compareReply compares an answer about a contract with the cached reply to the same request,
// which has all columns as they were then.
func (c *Check) compareReply(k *keyedAnswer) {
	s := c.answers.contracts[scan.Place{Org: k.org, ID: k.made.ID}]
	was := &s.shown[slices.IndexFunc(s.shown, func(one shownContract) bool { return one.line == k.line })] // a line with a key shows one contract
	reply := contractactor.ReplyID(k.org, actors.KeyOfStaff+"/"+k.key)
	kept, found, err := c.View.Record(k.org, ledger.Source{Kind: ledger.Reply, ID: reply})
	if err != nil || !found || !actors.ContractReply.Has(kept.Payload) {
		c.Report.Breach(findings.RuleAnswers, "line %d: what contract %v was answered with is not kept", k.line, k.made.ID)
		return
	}
	stored, found, err := c.View.Record(k.org, k.made)
	if c.Keyring == nil || !found || err != nil {
		return // a lost contract is reported once
	}
	id, payload, err := contractactor.OpenReply(c.Keyring, k.org, reply, kept.Payload)
	if err != nil || id != k.made.ID {
		return // rule 3 reports the reply
	}
	p, err := contract.ReadRecord(id, payload)
	if err != nil || s.variant != (contracts.Variant{Product: p.Product, Reading: p.Reading}) {
		return // rule 3 reports the reply
	}
	if p, err = c.asShown(k.org, p, stored.Stamp.Started, was.at); err != nil {
		return // rule 3 reports the register
	}
	c.compareContractForm(k.org, p, &stored.Stamp, was, daily, "is kept of the answer")
}

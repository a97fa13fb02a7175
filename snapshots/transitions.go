package snapshots

import (
	"slices"
	"strings"

	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// carried says which entries an event may carry, and whether it must. What is
// not in a table carries none (POSTINGS, "None is a decision too").
type carried struct {
	phases []ledger.Phase
	must   bool
}

// transactionEntries is POSTINGS' table "Payments", copied by hand.
var transactionEntries = map[payment.Event]carried{
	payment.Authorise: {phases: []ledger.Phase{ledger.Pending}},
	payment.Settle:    {phases: []ledger.Phase{ledger.Posted, ledger.Capture}, must: true},
	payment.Decline:   {phases: []ledger.Phase{ledger.Void}},
	payment.Fail:      {phases: []ledger.Phase{ledger.Void}},
	payment.Return:    {phases: []ledger.Phase{ledger.Posted}, must: true},
}

var settlementEntries = carried{phases: []ledger.Phase{ledger.Posted}, must: true}

// entriesOf says what an event of a record's kind may carry.
func entriesOf(kind ledger.Kind, name string) carried {
	switch kind {
	case ledger.Transaction:
		return transactionEntries[payment.Event(name)]
	case ledger.Settlement, ledger.Transfer:
		return settlementEntries
	}
	return carried{}
}

// legal tells whether the machine of the record's kind has the transition.
func legal(e *ledger.Event) bool {
	switch e.Source.Kind {
	case ledger.Transaction:
		from := payment.Status(e.From)
		if e.From == "" {
			from = payment.Absent
		}
		step, ok := payment.Machine.Next(from, payment.Event(e.Name))
		return ok && string(step.To) == e.To
	case ledger.Transfer: // nothing but its event
		return e.From == "" && e.Version == 1
	}
	return words.Legal(e.Source.Kind, e.Name, e.From, e.To)
}

// follow lets the record's history follow an event. closed is the hold that the
// event's entry closes.
func (j *journal) follow(e *ledger.Event, closed hold) {
	j.checkEntry(e, closed)
	if !legal(e) {
		j.wrong(e, "no machine has the step")
	}
	if e.Source.Kind == ledger.Transfer {
		return // there is no record to compare with, and there may be very many
	}
	o := j.organization
	h, states := o.histories.findOrAdd(e.Source), o.histories.statesOf(e.Source.Kind)
	if e.Version != uint64(h.version)+1 || e.Previous != h.last {
		j.wrong(e, "it does not follow the record's event before")
	}
	if e.From != states.name(h) {
		j.wrong(e, "it begins in a state that the record was not in")
	}
	if e.Version == 1 {
		h.started = e.Booked
	}
	if e.Source.Kind == ledger.Transaction {
		if e.To == string(payment.Authorizing) && e.From != e.To {
			h.intents = increment(h.intents)
		}
		if payment.Status(e.To).Final() {
			h.finished = e.Booked
		}
	}
	h.version, h.last, h.updated = uint32(e.Version), e.Seq, e.Booked
	h.state = states.code(e.To)
	h.passed |= 1 << h.state
	if e.Entry != nil {
		j.followEntry(h, e, closed)
	}
}

// wrong breaks the rule about states with an event.
func (j *journal) wrong(e *ledger.Event, what string) {
	j.report.breach(ruleStates, "organization %v: event %d of %s: %s", j.organization.id, e.Seq, named(e.Source), what)
}

// checkEntry checks that the event carries what it may and must.
func (j *journal) checkEntry(e *ledger.Event, closed hold) {
	carries := entriesOf(e.Source.Kind, e.Name)
	switch {
	case e.Entry == nil && carries.must:
		j.wrong(e, "it has no entry")
	case e.Entry == nil:
	case !slices.Contains(carries.phases, e.Entry.Phase):
		j.wrong(e, "its entry is not one of such an event")
	case closed.postings != nil && closed.source != e.Source:
		j.wrong(e, "its entry closes another record's")
	}
}

// followEntry keeps what the record's stamp and row must agree with.
func (j *journal) followEntry(h *history, e *ledger.Event, closed hold) {
	switch e.Entry.Phase {
	case ledger.Pending:
		if h.held != 0 {
			j.wrong(e, "it holds twice")
		}
		h.held = e.Seq
	case ledger.Capture, ledger.Void:
		h.held = 0
	}
	if (e.Entry.Phase == ledger.Posted || e.Entry.Phase == ledger.Capture) && h.settled == 0 {
		h.settled = e.Seq
	}
	switch e.Source.Kind {
	case ledger.Settlement: // an event an environment
		h.entry ^= j.organization.histories.meaning(e.Entry.Postings)
	case ledger.Transaction:
		if e.Entry.Phase != ledger.Void {
			h.entry = j.organization.histories.meaning(e.Entry.Postings)
		}
		j.followMoney(h, e, closed)
	}
}

// followMoney checks held ≥ captured ≥ returned on the provider's account.
func (j *journal) followMoney(h *history, e *ledger.Event, closed hold) {
	amount, side := onProvider(e.Entry.Postings)
	if amount.IsZero() || e.Entry.Phase == ledger.Void {
		return
	}
	if e.Entry.Reverses != 0 {
		j.followReturn(e, amount)
	}
	m := j.organization.histories.money(h)
	if m.captured.IsZero() && e.Entry.Phase != ledger.Pending && side == ledger.Credit {
		h.marks |= creditSide
	}
	forward := (side == ledger.Credit) == (h.marks&creditSide != 0)
	switch {
	case e.Entry.Phase == ledger.Pending && (forward || m.captured.IsZero()):
	case forward:
		if held, _ := onProvider(closed.postings); closed.postings != nil && held.Less(amount) {
			j.wrong(e, "it captures more than was held")
		}
		j.raise(&m.captured, amount, e)
	case e.Entry.Phase != ledger.Pending:
		j.raise(&m.returned, amount, e)
	}
	if m.captured.Less(m.returned) {
		j.wrong(e, "more is given back than was captured")
	}
}

// followReturn counts a return, which is a transaction of its own, against the
// transaction whose entry it reverses.
func (j *journal) followReturn(e *ledger.Event, amount money.Amount) {
	reversed, _, found, err := j.view.Event(j.organization.id, e.Entry.Reverses)
	var original *history
	if err == nil && found && e.Entry.Reverses < e.Seq {
		original = j.organization.histories.find(reversed.Source)
	}
	if original == nil || original.settled != e.Entry.Reverses || reversed.Source.Kind != ledger.Transaction {
		j.wrong(e, "it reverses what is no charge")
		return
	}
	m := j.organization.histories.money(original)
	j.raise(&m.returned, amount, e)
	if m.captured.Less(m.returned) {
		j.wrong(e, "more is reversed than was captured")
	}
}

func (j *journal) raise(sum *money.Amount, by money.Amount, e *ledger.Event) {
	total, err := sum.Add(by)
	if err != nil {
		j.wrong(e, "its amounts are out of range")
		return
	}
	*sum = total
}

// onProvider is what an entry moves on a provider's account.
func onProvider(postings []ledger.Posting) (money.Amount, ledger.Side) {
	var sum money.Signed
	for i := range postings {
		if strings.HasPrefix(string(postings[i].Account), "A:provider:") {
			sum, _ = sum.Add(net(&postings[i])) // unbalanced has looked at the range
		}
	}
	if sum.Negative {
		return sum.Abs, ledger.Credit
	}
	return sum.Abs, ledger.Debit
}

// kindNames are kinds of records as details name them.
var kindNames = map[ledger.Kind]string{
	ledger.Transaction: "transaction", ledger.Platform: "platform", ledger.Organization: "organization", ledger.Partner: "partner",
	ledger.Terminal: "terminal", ledger.APIKey: "key", ledger.Session: "session", ledger.User: "user",
	ledger.Settlement: "settlement", ledger.Transfer: "transfer",
}

func kindName(kind ledger.Kind) string {
	if name, known := kindNames[kind]; known {
		return name
	}
	return "unknown record"
}

// named is a record as a detail names it.
func named(s ledger.Source) string { return kindName(s.Kind) + " " + s.ID.String() }

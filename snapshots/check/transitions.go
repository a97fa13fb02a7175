package check

import (
	"mizan/actors/notifier"
	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/payment"
	calendar "mizan/ledger/period"
	"mizan/ledger/subscription"
)

// entryOf says what an event of a record's kind carries.
func entryOf(kind ledger.Kind, name string) carries {
	switch kind {
	case ledger.Transaction:
		return transactionEntries[payment.Event(name)]
	case ledger.Settlement, ledger.Transfer:
		return posts
	case ledger.Contract:
		return mayPost // its life says more
	}
	return none
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
	case ledger.Subscription:
		return subscription.Legal(e.Name, e.From, e.To)
	case ledger.Contract:
		return true // which machine it is of is not in the event: its life is followed
	case ledger.Screening:
		return isScreening(e)
	case ledger.Period:
		_, _, ok := calendar.ReadEvent(e)
		return ok && e.Version == 1
	case ledger.Retention:
		return notifier.RetentionLegal(e)
	case ledger.Transfer: // nothing but its event
		return e.From == "" && e.Version == 1
	}
	return words.Legal(e.Source.Kind, e.Name, e.From, e.To)
}

// follow lets the record's history follow an event. closed is the hold that the
// event's entry closes.
func (j *journal) follow(e *ledger.Event, closed hold) {
	if !legal(e) {
		j.wrongEvent(j.organization.id, e, "no machine has the step")
	}
	if e.Source.Kind == ledger.Transfer {
		j.checkEntry(e, closed, false)
		return // there is no record to compare with, and there may be very many
	}
	o := j.organization
	h := o.histories.findOrAdd(e.Source)
	j.checkEntry(e, closed, h.held != 0)
	if e.Version != uint64(h.version)+1 || e.Previous != h.last {
		j.wrongEvent(j.organization.id, e, "it does not follow the record's event before")
	}
	if !o.histories.in(h, e.Source.Kind, e.From) {
		j.wrongEvent(j.organization.id, e, "it begins in a state that the record was not in")
	}
	if e.Version == 1 {
		h.started = e.Booked
	}
	if e.Source.Kind == ledger.Transaction {
		j.transactions.followIntent(h, e)
		if finishes(payment.Status(e.From), payment.Status(e.To)) {
			h.finished = e.Booked
		}
		if e.Name == string(payment.Authorise) && e.Previous != e.Seq-1 {
			j.wrongEvent(j.organization.id, e, "it is no part of the step that chose its terminal")
		}
	}
	if e.Source.Kind == ledger.Subscription {
		j.transactions.followSubscription(e)
	}
	if e.Source.Kind == ledger.Contract {
		j.contracts.followContract(h, e)
	}
	if e.Source.Kind == ledger.Reply {
		j.contracts.followReply(h, e)
	}
	h.version, h.last, h.updated = uint32(e.Version), e.Seq, e.Booked
	h.recordHash = mark64(o.histories.seed, e.Stored.Record)
	o.histories.enter(h, e.Source.Kind, e.To)
	if e.Entry != nil {
		j.transactions.followEntry(h, e, closed)
	}
}

// checkEntry checks that the event carries what it must and no more; held says
// whether its record holds anything.
func (j *journal) checkEntry(e *ledger.Event, closed hold, held bool) {
	carries := entryOf(e.Source.Kind, e.Name)
	phase := carries.phase(held)
	switch {
	case e.Entry == nil && phase != 0 && carries != mayHold && carries != mayPost:
		j.wrongEvent(j.organization.id, e, "it has no entry")
	case e.Entry == nil:
	case phase != e.Entry.Phase:
		j.wrongEvent(j.organization.id, e, "its entry is not one of such an event")
	case closed.postings != nil && closed.source != e.Source:
		j.wrongEvent(j.organization.id, e, "its entry closes another record's")
	}
}

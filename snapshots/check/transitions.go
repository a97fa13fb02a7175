package check

import (
	"mizan/actors/notifier"
	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/payment"
	calendar "mizan/ledger/period"
	"mizan/ledger/subscription"
)

// carries says which entry an event has (POSTINGS: "None is a decision too").
type carries uint8

const (
	none     carries = iota
	mayHold          // a hold: of a payout, as its record must say
	holds            // a hold
	captures         // the capture of what is held
	voids            // the void of what is held
	settles          // the capture of what is held; where nothing is, a posted entry
	releases         // the void of what is held; where nothing is, none
	posts            // a posted entry
	mayPost          // a posted entry, where there is anything to move
)

// transactionEntries is POSTINGS' table "Payments", copied by hand. What is not
// in it has none.
var transactionEntries = map[payment.Event]carries{
	payment.Authorise:            mayHold,
	payment.HoldPayment:          holds,
	payment.Settle:               settles,
	payment.Capture:              captures,
	payment.Reroute:              releases,
	payment.Decline:              releases,
	payment.Fail:                 releases,
	payment.Void:                 releases,
	payment.Expire:               releases,
	payment.Refund:               holds,
	payment.RefundDone:           captures,
	payment.RefundRefused:        voids,
	payment.FurtherRefundRefused: voids,
	payment.Return:               posts,
	payment.SettleLate:           posts,
	payment.GaveBack:             posts,
}

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

// phase is the entry's, by whether the record holds anything; 0: there is none.
func (c carries) phase(held bool) ledger.Phase {
	switch c {
	case mayHold, holds:
		return ledger.Pending
	case captures:
		return ledger.Capture
	case voids:
		return ledger.Void
	case settles:
		if held {
			return ledger.Capture
		}
		return ledger.Posted
	case releases:
		if held {
			return ledger.Void
		}
	case posts, mayPost:
		return ledger.Posted
	}
	return 0
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
		j.wrong(e, "no machine has the step")
	}
	if e.Source.Kind == ledger.Transfer {
		j.checkEntry(e, closed, false)
		return // there is no record to compare with, and there may be very many
	}
	o := j.organization
	h := o.histories.findOrAdd(e.Source)
	j.checkEntry(e, closed, h.held != 0)
	if e.Version != uint64(h.version)+1 || e.Previous != h.last {
		j.wrong(e, "it does not follow the record's event before")
	}
	if !o.histories.in(h, e.Source.Kind, e.From) {
		j.wrong(e, "it begins in a state that the record was not in")
	}
	if e.Version == 1 {
		h.started = e.Booked
	}
	if e.Source.Kind == ledger.Transaction {
		j.followIntent(h, e)
		if finishes(payment.Status(e.From), payment.Status(e.To)) {
			h.finished = e.Booked
		}
		if e.Name == string(payment.Authorise) && e.Previous != e.Seq-1 {
			j.wrong(e, "it is no part of the step that chose its terminal")
		}
	}
	if e.Source.Kind == ledger.Subscription {
		j.followSubscription(e)
	}
	if e.Source.Kind == ledger.Contract {
		j.followContract(h, e)
	}
	if e.Source.Kind == ledger.Reply {
		j.followReply(h, e)
	}
	h.version, h.last, h.updated = uint32(e.Version), e.Seq, e.Booked
	h.recordHash = mark64(o.histories.seed, e.Stored.Record)
	o.histories.enter(h, e.Source.Kind, e.To)
	if e.Entry != nil {
		j.followEntry(h, e, closed)
	}
}

// finishes tells whether a transaction reaches a final status by the step
// (specification, "finished"). A refund that is refused leads back to where the
// transaction was finished before.
func finishes(from, to payment.Status) bool {
	switch from {
	case to:
		return false
	case payment.Charged, payment.Refunding, payment.Refunded:
		return to == payment.Reversed
	}
	return to.Final()
}

// wrong breaks the rule about states with an event.
func (j *journal) wrong(e *ledger.Event, what string) {
	j.report.breach(ruleStates, "organization %v: event %d of %s: %s", j.organization.id, e.Seq, named(e.Source), what)
}

// checkEntry checks that the event carries what it must and no more; held says
// whether its record holds anything.
func (j *journal) checkEntry(e *ledger.Event, closed hold, held bool) {
	carries := entryOf(e.Source.Kind, e.Name)
	phase := carries.phase(held)
	switch {
	case e.Entry == nil && phase != 0 && carries != mayHold && carries != mayPost:
		j.wrong(e, "it has no entry")
	case e.Entry == nil:
	case phase != e.Entry.Phase:
		j.wrong(e, "its entry is not one of such an event")
	case closed.postings != nil && closed.source != e.Source:
		j.wrong(e, "its entry closes another record's")
	}
}

// kindNames are kinds of records as details name them.
var kindNames = map[ledger.Kind]string{
	ledger.Transaction: "transaction", ledger.Platform: "platform", ledger.Organization: "organization", ledger.Partner: "partner",
	ledger.Terminal: "terminal", ledger.APIKey: "key", ledger.Session: "session", ledger.User: "user",
	ledger.Limit: "limit", ledger.Block: "entry of the blocklist", ledger.Subscription: "subscription",
	ledger.Settlement: "settlement", ledger.Rate: "rate", ledger.Answer: "answer", ledger.Reply: "reply", ledger.Transfer: "transfer",
	ledger.Contract: "contract", ledger.Screening: "screening", ledger.Period: "closed month",
	ledger.Retention: "retention of deliveries",
}

func kindName(kind ledger.Kind) string {
	if name, known := kindNames[kind]; known {
		return name
	}
	return "unknown record"
}

// named is a record as a detail names it.
func named(s ledger.Source) string { return kindName(s.Kind) + " " + s.ID.String() }

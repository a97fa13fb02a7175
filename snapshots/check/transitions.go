package check

import (
	"mizan/actors/notifier"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/ledger/period"
	"mizan/ledger/reconciliation"
	"mizan/ledger/subscription"
	"mizan/snapshots/check/contracts"
	"mizan/snapshots/check/scan"
	"mizan/snapshots/check/transactions"
)

// For rule 3 of the checker (states of records), this file checks the transitions that events make. Every event must
// be a transition of its record's state machine. It must start from the state to which the record's previous event
// led, and must have the entry that such a transition requires.

// entryRuleOf says which entry an event with this name must have, for a record of this kind.
func entryRuleOf(kind ledger.Kind, name string) scan.EntryRule {
	switch kind {
	case ledger.Transaction:
		return transactions.EntryRules[payment.Event(name)]
	case ledger.Settlement, ledger.Transfer:
		return scan.MustPost
	case ledger.Contract:
		return scan.MayPost // package contracts checks the entry
	case ledger.Difference:
		return scan.MayPost // package reconciliation checks the entry
	}
	return scan.NoEntry
}

// isLegal tells whether the state machine of the record's kind has the event's transition.
func isLegal(e *ledger.Event) bool {
	switch e.Source.Kind {
	case ledger.Transaction:
		from := payment.Status(e.From)
		if e.From == "" {
			from = payment.Absent
		}
		step, ok := payment.Machine.Next(from, payment.Event(e.Name))
		return ok && string(step.To) == e.To
	case ledger.Subscription:
		return subscription.IsLegalTransition(e.Name, e.From, e.To)
	case ledger.Contract:
		return true // the event does not name its state machine: package contracts checks the transition
	case ledger.Screening:
		return contracts.IsScreening(e)
	case ledger.Period:
		_, _, ok := period.ReadEvent(e)
		return ok && e.Version == 1
	case ledger.Retention:
		return notifier.IsRetentionEvent(e)
	case ledger.SettlementReport, ledger.SettlementLines, ledger.Difference, ledger.ReconciledDay:
		return reconciliation.IsLegalTransition(e.Source.Kind, e.Name, e.From, e.To)
	case ledger.Transfer: // a transfer has no record
		return e.From == "" && e.Version == 1
	}
	return directory.IsLegalTransition(e.Source.Kind, e.Name, e.From, e.To)
}

// followTransition checks an event and adds it to its record's history. closedHold is the hold that the event's entry
// closes.
func (j *journal) followTransition(e *ledger.Event, closedHold scan.Hold) {
	if !isLegal(e) {
		j.EventFault(j.organization.ID, e, "no machine has the step")
	}
	if e.Source.Kind == ledger.Transfer {
		j.checkEntry(e, closedHold, false)
		return // a transfer has no record, and a store may have very many transfers
	}
	o := j.organization
	h := o.Histories.FindOrAdd(e.Source)
	j.checkEntry(e, closedHold, h.HeldSeq != 0)
	if e.Version != uint64(h.Version)+1 || e.Previous != h.LastSeq {
		j.EventFault(j.organization.ID, e, "it does not follow the record's previous event")
	}
	if !o.Histories.IsInState(h, e.Source.Kind, e.From) {
		j.EventFault(j.organization.ID, e, "it begins in a state that the record was not in")
	}
	if e.Version == 1 {
		h.FirstSeq, h.StartedAt = e.Seq, e.Booked
	}
	if e.Source.Kind == ledger.Transaction {
		j.transactions.FollowIntent(h, e)
		if transactions.Finishes(payment.Status(e.From), payment.Status(e.To)) {
			h.FinishedAt = e.Booked
		}
		if e.Name == string(payment.Authorise) && e.Previous != e.Seq-1 {
			j.EventFault(j.organization.ID, e, "it is not part of the step that chose its terminal")
		}
	}
	if e.Source.Kind == ledger.Subscription {
		j.transactions.FollowSubscription(e)
	}
	if e.Source.Kind == ledger.Contract {
		j.contracts.FollowContract(h, e)
	}
	if e.Source.Kind == ledger.Reply {
		j.contracts.FollowReply(h, e)
	}
	j.reconciled.FollowEvent(e)
	h.Version, h.LastSeq, h.UpdatedAt = uint32(e.Version), e.Seq, e.Booked
	h.RecordHash = hash64(o.Histories.Seed, e.StoredHashes.Record)
	if h.RecordHash != 0 {
		o.Histories.FollowChange(h, e.Booked)
	}
	o.Histories.EnterState(h, e.Source.Kind, e.To)
	if e.Entry != nil {
		j.transactions.FollowEntry(h, e, closedHold)
	}
}

// checkEntry checks that the event has the required entry. closedHold is the hold that the entry closes, and
// hasHold tells whether the event's record has a hold.
func (j *journal) checkEntry(e *ledger.Event, closedHold scan.Hold, hasHold bool) {
	rule := entryRuleOf(e.Source.Kind, e.Name)
	phase := rule.Phase(hasHold)
	switch {
	case e.Entry == nil && phase != 0 && rule != scan.MayHold && rule != scan.MayPost:
		j.EventFault(j.organization.ID, e, "it has no entry")
	case e.Entry == nil:
	case phase != e.Entry.Phase:
		j.EventFault(j.organization.ID, e, "its entry is not one of such an event")
	case closedHold.Postings != nil && closedHold.Source != e.Source:
		j.EventFault(j.organization.ID, e, "its entry closes the hold of another record")
	}
}

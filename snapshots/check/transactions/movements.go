package transactions

import (
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks entries of transactions and settlements. An event
// that moves money has an entry. The entries close the record's holds. They capture no more than was held, and refund
// no more than was captured. Money that arrives after a transaction is closed stays on the suspense account until it is
// refunded.

// FollowEntry adds an event's entry to the record's history. If the entry closes a hold, closedHold is this hold.
func (c *Check) FollowEntry(h *scan.History, e *ledger.Event, closedHold scan.Hold) {
	switch e.Entry.Phase {
	case ledger.Pending:
		if h.HeldSeq != 0 {
			c.EventFault(c.organization.ID, e, "it holds twice")
		}
		h.HeldSeq = e.Seq
	case ledger.Capture, ledger.Void:
		h.HeldSeq = 0
	}
	histories := c.organization.Histories
	fingerprint := histories.Fingerprint(e.Entry.Postings)
	if e.Entry.Phase == ledger.Posted || e.Entry.Phase == ledger.Capture {
		if h.SettledSeq == 0 {
			h.SettledSeq = e.Seq
		}
		h.NetFingerprint = h.NetFingerprint.Plus(fingerprint)
	}
	switch e.Source.Kind {
	case ledger.Settlement: // a settlement has one event for each environment
		h.EntryHash = uint64(h.NetFingerprint)
	case ledger.Transaction:
		c.followMoney(h, e, fingerprint, closedHold)
	}
}

// followMoney records the amounts that a transaction's entry moves. It checks that no more is captured than was held,
// and that no more is returned than was captured.
func (c *Check) followMoney(h *scan.History, e *ledger.Event, fingerprint scan.Fingerprint, closedHold scan.Hold) {
	histories := c.organization.Histories
	providerAmount, _ := scan.NetOnProvider(e.Entry.Postings)
	switch payment.Event(e.Name) {
	case payment.Authorise, payment.HoldPayment:
		if h.Intents[scan.CallCharge] > 1 && e.Name == string(payment.Authorise) {
			histories.Rerouted[e.Source] = append(histories.Rerouted[e.Source], h.HoldFingerprint)
		}
		if h.HoldFingerprint = fingerprint; e.Name == string(payment.Authorise) {
			h.Holds = scan.Increment(h.Holds)
		}
	case payment.Settle, payment.Capture:
		if heldAmount, _ := scan.NetOnProvider(closedHold.Postings); closedHold.Postings != nil && heldAmount.Less(providerAmount) {
			c.EventFault(c.organization.ID, e, "it captures more than was held")
		}
		c.noteSettled(h, providerAmount, fingerprint)
	case payment.Return:
		c.noteSettled(h, providerAmount, fingerprint)
		c.followReturn(e, fingerprint)
	case payment.SettleLate, payment.SettleAttempt:
		h.Marks |= scan.BookedLate
		c.noteSettled(h, providerAmount, fingerprint)
	case payment.ReverseLate:
		h.Marks |= scan.LateMoneyTaken
		if h.NetFingerprint != 0 {
			c.EventFault(c.organization.ID, e, "it does not take back the amount in suspense")
		}
	case payment.SuspenseRefunded:
		if h.NetFingerprint != 0 {
			c.EventFault(c.organization.ID, e, "it does not refund the amount in suspense")
		}
		c.addTo(&histories.ProviderMoneyOf(h).Refunded, providerAmount, e)
	case payment.Refund, payment.RefundDone, payment.RefundRefused, payment.RepeatRefundRefused:
		c.followRefund(h, e, fingerprint)
	}
}

// noteSettled records the entry that settled a transaction.
func (c *Check) noteSettled(h *scan.History, amount money.Amount, fingerprint scan.Fingerprint) {
	if h.Marks&scan.BookedLate == 0 {
		h.Marks |= scan.ChargeBooked
	}
	h.EntryHash = uint64(fingerprint)
	c.organization.Histories.ProviderMoneyOf(h).Captured = amount
}

// followRefund records the intent of a refund, or the refund's outcome.
func (c *Check) followRefund(h *scan.History, e *ledger.Event, fingerprint scan.Fingerprint) {
	histories := c.organization.Histories
	providerMoney := histories.ProviderMoneyOf(h)
	if payment.Event(e.Name) == payment.Refund {
		refund := scan.Refund{Previous: h.Refunds, Fingerprint: fingerprint}
		refund.Provider, _ = scan.NetOnProvider(e.Entry.Postings)
		refund.Fees = feesAmount(e.Entry.Postings)
		refund.Dest = destinationAmount(e.Entry.Postings)
		h.Refunds = histories.Refunds.Add(refund)
		if total, err := providerMoney.Refunded.Add(refund.Provider); err != nil || providerMoney.Captured.Less(total) {
			c.EventFault(c.organization.ID, e, "more is refunded than was captured")
		}
		return
	}
	if h.Refunds < 0 {
		return // the refund has no intent, which FollowIntent has reported
	}
	refund := histories.Refunds.At(h.Refunds)
	if fingerprint != refund.Fingerprint {
		c.EventFault(c.organization.ID, e, "it is not what the refund holds")
	}
	if payment.Event(e.Name) != payment.RefundDone {
		refund.State = scan.RefundRefused
		return
	}
	refund.State = scan.RefundDone
	c.addTo(&providerMoney.Refunded, refund.Provider, e)
}

// followReturn checks the entry of a return (a transaction that reverses a charge). The entry must mirror that part of
// the charge that was not refunded before.
func (c *Check) followReturn(e *ledger.Event, fingerprint scan.Fingerprint) {
	reversedEvent, _, found, err := c.View.Event(c.organization.ID, e.Entry.Reverses)
	var original *scan.History
	if err == nil && found && e.Entry.Reverses < e.Seq {
		original = c.organization.Histories.Find(reversedEvent.Source)
	}
	if original == nil || original.SettledSeq != e.Entry.Reverses || original.Marks&scan.ChargeBooked == 0 || reversedEvent.Source.Kind != ledger.Transaction {
		c.EventFault(c.organization.ID, e, "it reverses what is no charge")
		return
	}
	if original.Marks&scan.ChargeReturned != 0 {
		c.EventFault(c.organization.ID, e, "it reverses what is reversed already")
		return
	}
	original.Marks |= scan.ChargeReturned
	if original.NetFingerprint.Plus(fingerprint) != 0 {
		c.EventFault(c.organization.ID, e, "it is not the mirror of what was left of the charge")
	}
}

// addTo adds an amount to a sum. If the sum is out of range, addTo reports a fault of the event.
func (c *Check) addTo(sum *money.Amount, amount money.Amount, e *ledger.Event) {
	total, err := sum.Add(amount)
	if err != nil {
		c.EventFault(c.organization.ID, e, "its amounts are out of range")
		return
	}
	*sum = total
}

// feesAmount returns the amount that an entry moves on the fees account.
func feesAmount(postings []ledger.Posting) money.Amount {
	return scan.SumOf(postings, func(p *ledger.Posting) bool { return p.Account == ledger.Fees }).Abs
}

// destinationAmount returns the amount that an entry posts on the exchange position in an asset other than the provider's. If
// nothing is converted, the amount is zero.
func destinationAmount(postings []ledger.Posting) money.Amount {
	var source money.Asset
	for i := range postings {
		if strings.HasPrefix(string(postings[i].Account), scan.ProviderPrefix) {
			source = postings[i].Asset
		}
	}
	return scan.SumOf(postings, func(p *ledger.Posting) bool { return p.Account == ledger.FXPosition && p.Asset != source }).Abs
}

// EntryRules says which kind of entry each event of a transaction must have. The table is written by hand,
// independently of ledger/payment. An event that is not in the table must have no entry.
var EntryRules = map[payment.Event]scan.EntryRule{
	payment.Authorise:           scan.MayHold,
	payment.HoldPayment:         scan.MustHold,
	payment.Settle:              scan.MustSettle,
	payment.Capture:             scan.MustCapture,
	payment.Reroute:             scan.MustRelease,
	payment.Decline:             scan.MustRelease,
	payment.Fail:                scan.MustRelease,
	payment.Void:                scan.MustRelease,
	payment.Expire:              scan.MustRelease,
	payment.Refund:              scan.MustHold,
	payment.RefundDone:          scan.MustCapture,
	payment.RefundRefused:       scan.MustVoid,
	payment.RepeatRefundRefused: scan.MustVoid,
	payment.Return:              scan.MustPost,
	payment.SettleLate:          scan.MustPost,
	payment.SettleAttempt:       scan.MustPost,
	payment.SuspenseRefunded:    scan.MustPost,
	payment.ReverseLate:         scan.MustPost,
}

// Finishes tells whether the step sets the time at which the transaction finished. A step sets this time if it leads to
// a final status. A refused refund is an exception: the transaction only returns to the final status that it had
// before.
func Finishes(from, to payment.Status) bool {
	switch from {
	case to:
		return false
	case payment.Charged, payment.Refunding, payment.Refunded:
		return to == payment.Reversed
	}
	return to.IsFinal()
}

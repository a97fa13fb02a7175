package transactions

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// Rule 3, intents. A transaction has one open request to its provider at a time, and each
// outcome has its intent before it.

// intent is an event that is durable before its call is made.
type intent struct {
	call scan.Operation
	asks scan.Asking // the request that is open until an outcome ends it
}

// intents are the events that precede a call.
var intents = map[payment.Event]intent{
	payment.Authorise: {call: scan.CallCharge},
	payment.Submit:    {call: scan.CallComplete},
	payment.Commit:    {scan.CallCapture, scan.AskingCapture},
	payment.Cancel:    {scan.CallVoid, scan.AskingVoid},
	payment.Lapse:     {scan.CallVoid, scan.AskingLapse},
	payment.Refund:    {scan.CallRefund, scan.AskingRefund},
	payment.GiveBack:  {scan.CallRefund, scan.AskingGiveBack},
}

// outcomes are the events that end an intent, each with the intents that it may end. A
// requested void, and a hold that is too old, end in failed; a transaction whose payer did not
// act is rejected (DECISIONS, "Payments").
var outcomes = map[payment.Event][]scan.Asking{
	payment.Capture:              {scan.AskingCapture},
	payment.CommitRefused:        {scan.AskingCapture},
	payment.Void:                 {scan.AskingVoid, scan.AskingLapse},
	payment.Expire:               {scan.AskingLapse},
	payment.VoidFailed:           {scan.AskingVoid, scan.AskingLapse},
	payment.RefundDone:           {scan.AskingRefund},
	payment.RefundRefused:        {scan.AskingRefund},
	payment.FurtherRefundRefused: {scan.AskingRefund},
	payment.GaveBack:             {scan.AskingGiveBack},
	payment.GiveBackFailed:       {scan.AskingGiveBack},
}

// continuations are the events that leave an intent open, each with the intents that it may
// follow; nil: all.
var continuations = map[payment.Event][]scan.Asking{
	payment.Await:         nil,
	payment.RefundPending: {scan.AskingRefund},
}

// FollowIntent checks that a transaction has one open request to its provider at a time, each
// with its own intent, and that no outcome comes without an intent.
func (c *Check) FollowIntent(h *scan.History, e *ledger.Event) {
	name := payment.Event(e.Name)
	ends, isOutcome := outcomes[name]
	if name == payment.Expire && e.From == string(payment.Created) {
		isOutcome = false // the payer did not come, so the provider was asked for nothing
	}
	waits, isWait := continuations[name]
	switch {
	case isOutcome && !slices.Contains(ends, h.Asking):
		c.EventFault(c.organization.ID, e, "nothing that leads to it was asked of the provider")
	case name == payment.Void && h.Asking == scan.AskingLapse && !payment.Status(e.From).Held():
		c.EventFault(c.organization.ID, e, "the payer's time was over, and it is not rejected for it")
	case isOutcome:
	case isWait && waits != nil && !slices.Contains(waits, h.Asking):
		c.EventFault(c.organization.ID, e, "nothing that it goes on with was asked of the provider")
	case !isWait && h.Asking != scan.AskingNothing:
		c.EventFault(c.organization.ID, e, "it comes while another operation is under way")
		h.Asking = scan.AskingNothing
	}
	if isOutcome {
		h.Asking = scan.AskingNothing
	}
	if i, is := intents[name]; is {
		h.Intents[i.call] = scan.Increment(h.Intents[i.call])
		if i.asks != scan.AskingNothing {
			h.Asking = i.asks
		}
	}
}

// asksFor returns the requests that may be open according to a record.
func asksFor(p *payment.Record) []scan.Asking {
	switch {
	case p.Op == nil || p.Op.Kind == payment.OpComplete:
		return []scan.Asking{scan.AskingNothing}
	case p.Op.Kind == payment.OpCapture:
		return []scan.Asking{scan.AskingCapture}
	case p.Op.Kind == payment.OpVoid:
		return []scan.Asking{scan.AskingVoid, scan.AskingLapse}
	case p.Op.Kind == payment.OpRefund && p.Op.Late:
		return []scan.Asking{scan.AskingGiveBack}
	case p.Op.Kind == payment.OpRefund:
		return []scan.Asking{scan.AskingRefund}
	}
	return nil
}

package check

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/payment"
)

// intent is an event that is durable before its call is made.
type intent struct {
	call operation
	asks asking // until an outcome ends it
}

var intents = map[payment.Event]intent{
	payment.Authorise: {call: callCharge},
	payment.Submit:    {call: callComplete},
	payment.Commit:    {callCapture, toCapture},
	payment.Cancel:    {callVoid, toVoid},
	payment.Lapse:     {callVoid, toLapse},
	payment.Refund:    {callRefund, toRefund},
	payment.GiveBack:  {callRefund, toGiveBack},
}

// outcomes are the events that end an intent, and those that it may be. A void
// for which somebody asked leads to failed, and so does a hold that is too old;
// what a payer let pass is rejected (DECISIONS, "Payments").
var outcomes = map[payment.Event][]asking{
	payment.Capture:              {toCapture},
	payment.CommitRefused:        {toCapture},
	payment.Void:                 {toVoid, toLapse},
	payment.Expire:               {toLapse},
	payment.VoidFailed:           {toVoid, toLapse},
	payment.RefundDone:           {toRefund},
	payment.RefundRefused:        {toRefund},
	payment.FurtherRefundRefused: {toRefund},
	payment.GaveBack:             {toGiveBack},
	payment.GiveBackFailed:       {toGiveBack},
}

// waits are the events that leave an intent under way, and those that it may be;
// without a list all.
var waits = map[payment.Event][]asking{
	payment.Await:         nil,
	payment.RefundPending: {toRefund},
}

// followIntent lets the history follow what is asked of the provider: one thing
// at a time, each by an intent of its own, and no outcome without one.
func (j *transactionsCheck) followIntent(h *history, e *ledger.Event) {
	name := payment.Event(e.Name)
	ends, isOutcome := outcomes[name]
	if name == payment.Expire && e.From == string(payment.Created) {
		isOutcome = false // the payer never came: the provider was asked for nothing
	}
	waits, isWait := waits[name]
	switch {
	case isOutcome && !slices.Contains(ends, h.asks):
		j.wrongEvent(j.organization.id, e, "nothing that leads to it was asked of the provider")
	case name == payment.Void && h.asks == toLapse && !payment.Status(e.From).Held():
		j.wrongEvent(j.organization.id, e, "the payer's time was over, and it is not rejected for it")
	case isOutcome:
	case isWait && waits != nil && !slices.Contains(waits, h.asks):
		j.wrongEvent(j.organization.id, e, "nothing that it goes on with was asked of the provider")
	case !isWait && h.asks != asksNothing:
		j.wrongEvent(j.organization.id, e, "it comes while another operation is under way")
		h.asks = asksNothing
	}
	if isOutcome {
		h.asks = asksNothing
	}
	if i, is := intents[name]; is {
		h.asked[i.call] = increment(h.asked[i.call])
		if i.asks != asksNothing {
			h.asks = i.asks
		}
	}
}

// asksFor is what a record says that it is asking.
func asksFor(p *payment.Record) []asking {
	switch {
	case p.Op == nil || p.Op.Kind == payment.OpComplete:
		return []asking{asksNothing}
	case p.Op.Kind == payment.OpCapture:
		return []asking{toCapture}
	case p.Op.Kind == payment.OpVoid:
		return []asking{toVoid, toLapse}
	case p.Op.Kind == payment.OpRefund && p.Op.Late:
		return []asking{toGiveBack}
	case p.Op.Kind == payment.OpRefund:
		return []asking{toRefund}
	}
	return nil
}

package transactions

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks the intents of provider calls. A transaction has at
// most one open request to its provider at a time. Each outcome of a call must have an intent before it. An intent is
// an event that is stored before the call.

// intent describes an event that must be stored before a provider is called.
type intent struct {
	call    scan.Operation   // the call that the event precedes
	request scan.OpenRequest // the request that is open from then on, until an outcome ends it
}

// intents lists the events that precede a call.
var intents = map[payment.Event]intent{
	payment.Authorise:      {call: scan.CallCharge},
	payment.Submit:         {call: scan.CallComplete},
	payment.Commit:         {scan.CallCapture, scan.CaptureRequest},
	payment.Cancel:         {scan.CallVoid, scan.VoidRequest},
	payment.Lapse:          {scan.CallVoid, scan.LapseRequest},
	payment.Refund:         {scan.CallRefund, scan.RefundRequest},
	payment.RefundSuspense: {scan.CallRefund, scan.LateRefundRequest},
}

// outcomes lists the events that end an open request, and for each event the requests that it may end. FollowIntent
// also checks the status to which a void leads.
var outcomes = map[payment.Event][]scan.OpenRequest{
	payment.Capture:              {scan.CaptureRequest},
	payment.CommitRefused:        {scan.CaptureRequest},
	payment.Void:                 {scan.VoidRequest, scan.LapseRequest},
	payment.Expire:               {scan.LapseRequest},
	payment.VoidFailed:           {scan.VoidRequest, scan.LapseRequest},
	payment.RefundDone:           {scan.RefundRequest},
	payment.RefundRefused:        {scan.RefundRequest},
	payment.RepeatRefundRefused:  {scan.RefundRequest},
	payment.SuspenseRefunded:     {scan.LateRefundRequest},
	payment.SuspenseRefundFailed: {scan.LateRefundRequest},
}

// continuations lists the events that leave an open request open, and for each event the requests that it may follow.
// nil means all requests.
var continuations = map[payment.Event][]scan.OpenRequest{
	payment.AwaitOutcome:  nil,
	payment.RefundPending: {scan.RefundRequest},
}

// FollowIntent checks that a transaction has at most one open request to its provider at a time, and that
// each request and each outcome has an intent before it.
func (c *Check) FollowIntent(h *scan.History, e *ledger.Event) {
	name := payment.Event(e.Name)
	endedRequests, isOutcome := outcomes[name]
	if name == payment.Expire && e.From == string(payment.Created) {
		isOutcome = false // the payer did not act in time; there is no open request to the provider
	}
	allowedRequests, isContinuation := continuations[name]
	switch {
	case isOutcome && !slices.Contains(endedRequests, h.OpenRequest):
		c.EventFault(c.organization.ID, e, "it has no matching request to the provider")
	case name == payment.Void && h.OpenRequest == scan.LapseRequest && !payment.Status(e.From).IsHeld():
		c.EventFault(c.organization.ID, e, "the payer did not act in time, and it is not rejected")
	case isOutcome:
	case isContinuation && allowedRequests != nil && !slices.Contains(allowedRequests, h.OpenRequest):
		c.EventFault(c.organization.ID, e, "it continues no request to the provider")
	case !isContinuation && h.OpenRequest != scan.NoRequest:
		c.EventFault(c.organization.ID, e, "it comes while another operation is under way")
		h.OpenRequest = scan.NoRequest
	}
	if isOutcome {
		h.OpenRequest = scan.NoRequest
	}
	if i, isIntent := intents[name]; isIntent {
		h.Intents[i.call] = scan.Increment(h.Intents[i.call])
		if i.request != scan.NoRequest {
			h.OpenRequest = i.request
		}
	}
	if name == payment.EndAttempt {
		c.organization.Histories.EndAttempt(e.Source, h)
	}
}

// openRequests returns the requests that may be open according to a record. The open request according to the events
// must be one of them.
func openRequests(p *payment.Record) []scan.OpenRequest {
	switch {
	case p.Op == nil || p.Op.Kind == payment.OpComplete:
		return []scan.OpenRequest{scan.NoRequest}
	case p.Op.Kind == payment.OpCapture:
		return []scan.OpenRequest{scan.CaptureRequest}
	case p.Op.Kind == payment.OpVoid:
		return []scan.OpenRequest{scan.VoidRequest, scan.LapseRequest}
	case p.Op.Kind == payment.OpRefund && p.Op.FromSuspense:
		return []scan.OpenRequest{scan.LateRefundRequest}
	case p.Op.Kind == payment.OpRefund:
		return []scan.OpenRequest{scan.RefundRequest}
	}
	return nil
}

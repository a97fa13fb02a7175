package api

import (
	"github.com/gofiber/fiber/v2"

	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// What became of a transaction at the terminal that it stayed at.
const (
	routedPending  = "pending"  // nothing is known yet
	routedAccepted = "accepted" // the provider has the charge, or had it
	routedRefused  = "refused"
	routedFailed   = "failed"
)

// readRouting is GET /transactions/{id}/routing: the terminals in the order in
// which they were looked at, each with what became of the transaction there.
func (h *paymentsHandlers) readRouting(req *Request) error {
	if err := queryOf(req.RequestCtx).problems.err(); err != nil {
		return err
	}
	result, err := h.findTransaction(req)
	if err != nil {
		return err
	}
	r := result.Record
	var e encoder
	e.open('{')
	e.enter("data", '[')
	for i := range r.Attempts {
		h.appendAttempt(&e, req.Principal.Org, &r.Attempts[i])
	}
	if r.Terminal != (ledger.ID{}) {
		own := lastAttempt(&result)
		h.appendAttempt(&e, req.Principal.Org, &own)
	}
	e.close(']')
	e.close('}')
	writeJSON(req.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// lastAttempt tells of the terminal that the transaction stayed at: what became of
// it there, and when it ended or, while it has not, was last changed.
func lastAttempt(result *paymentactor.Result) payment.Attempt {
	r := result.Record
	a := payment.Attempt{Terminal: r.Terminal, Priority: r.Priority, At: r.Finished}
	if a.At == 0 {
		a.At = result.Stamp.Updated
	}
	switch {
	case r.Status == payment.Rejected:
		a.Outcome, a.Failure = routedRefused, r.Failure
	case r.Status == payment.Failed:
		a.Outcome, a.Failure = routedFailed, r.Failure
	case r.Status == payment.Authorizing, r.Status.Moving() && !r.Known:
		a.Outcome = routedPending
	default:
		a.Outcome = routedAccepted
	}
	return a
}

// appendAttempt writes one terminal. It has the name that it has by now.
func (h *paymentsHandlers) appendAttempt(e *encoder, org ledger.ID, a *payment.Attempt) {
	e.open('{')
	e.id("terminal_id", a.Terminal)
	name := ""
	if t, found := h.cfg.Directory.Terminal(org, a.Terminal); found {
		name = t.Name
	}
	e.textOrNull("name", name)
	e.integer("priority", int64(a.Priority))
	e.word("outcome", a.Outcome)
	e.textOrNull("reason", a.Failure.Describe("en"))
	appendCode(e, a.Failure)
	e.instant("at", a.At)
	e.close('}')
}

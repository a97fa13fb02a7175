package payments

import (
	"github.com/gofiber/fiber/v2"

	paymentactor "mizan/actors/payment"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/jsonform"
	"mizan/ledger/payment"
	"mizan/ledger/schema"
)

// Outcomes at the last terminal of a transaction.
const (
	routedPending  = "pending"  // the outcome is not known yet
	routedAccepted = "accepted" // the provider has the charge, or had it
	routedRefused  = "refused"
	routedFailed   = "failed"
)

// readRouting is GET /transactions/{id}/routing: the terminals in the order in which they were
// tried, each with its outcome.
func (h *Handlers) readRouting(req *web.Request) error {
	if err := web.QueryOf(req.RequestCtx).Problems.Err(); err != nil {
		return err
	}
	result, err := h.findTransaction(req)
	if err != nil {
		return err
	}
	r := result.Record
	var e schema.Encoder
	e.Open('{')
	e.Enter("data", '[')
	for i := range r.Attempts {
		h.appendAttempt(&e, req.Principal.Org, &r.Attempts[i])
	}
	if r.Terminal != (ledger.ID{}) {
		own := lastAttempt(&result)
		h.appendAttempt(&e, req.Principal.Org, &own)
	}
	e.Close(']')
	e.Close('}')
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, e.Buf)
	return nil
}

// lastAttempt returns the outcome at the transaction's last terminal, with the time at which it
// ended or last changed.
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

// appendAttempt writes one terminal, with its current name.
func (h *Handlers) appendAttempt(e *schema.Encoder, org ledger.ID, a *payment.Attempt) {
	e.Open('{')
	e.ID("terminal_id", a.Terminal)
	name := ""
	if t, found := h.cfg.Directory.Terminal(org, a.Terminal); found {
		name = t.Name
	}
	e.TextOrNull("name", name)
	e.Integer("priority", int64(a.Priority))
	e.Word("outcome", a.Outcome)
	e.TextOrNull("reason", a.Failure.Describe("en"))
	e.Key("error_code")
	e.Buf = jsonform.AppendCode(e.Buf, a.Failure)
	e.Instant("at", a.At)
	e.Close('}')
}

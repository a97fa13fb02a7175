package payments

import (
	"slices"

	"github.com/gofiber/fiber/v2"

	paymentactor "mizan/actors/payment"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// Outcomes at the last terminal of a transaction.
const (
	routedPending  = "pending"  // the outcome is not known yet
	routedAccepted = "accepted" // the provider accepted the charge; the money may have been returned since then
	routedRefused  = "refused"
	routedFailed   = "failed"
)

// readRouting is GET /transactions/{id}/routing: the terminals at which the transaction was tried, in this
// order, each with its outcome. The payer of a hosted payment may make several attempts. The response has
// the terminals of all attempts.
func (h *Handlers) readRouting(req *web.Request) error {
	if err := web.QueryOf(req.RequestCtx).Problems.Err(); err != nil {
		return err
	}
	result, err := h.findTransaction(req)
	if err != nil {
		return err
	}
	r := result.Record
	var rows []triedTerminal
	addAttempt := func(number int, reference *ledger.ID, tried []payment.Attempt) {
		for i := range tried {
			row := h.newTriedTerminal(req.Principal.Org, &tried[i])
			row.Attempt, row.Reference = number, reference
			rows = append(rows, row)
		}
	}
	for i := range r.EndedAttempts {
		addAttempt(i+1, &r.EndedAttempts[i].Reference, r.EndedAttempts[i].Terminals)
	}
	last, present := len(r.EndedAttempts)+1, r.ChargeReference()
	if r.Terminal == (ledger.ID{}) {
		addAttempt(last, nil, r.Attempts)
	} else {
		addAttempt(last, &present, append(slices.Clone(r.Attempts), lastTerminal(&result)))
	}
	web.WriteData(req, fiber.StatusOK, rows)
	return nil
}

// lastTerminal describes the attempt at the transaction's last terminal. The attempt's time is the time at
// which the transaction ended or, if the transaction has not ended, the time of its last change.
func lastTerminal(result *paymentactor.Result) payment.Attempt {
	r := result.Record
	a := payment.Attempt{Terminal: r.Terminal, Priority: r.Priority, At: r.FinishedAt}
	if a.At == 0 {
		a.At = result.Header.UpdatedAt
	}
	switch {
	case r.Status == payment.Rejected:
		a.Outcome, a.Failure = routedRefused, r.Failure
	case r.Status == payment.Failed:
		a.Outcome, a.Failure = routedFailed, r.Failure
	case r.Status == payment.Authorizing, r.Status.AtProvider() && !r.ConfirmedByProvider:
		a.Outcome = routedPending
	default:
		a.Outcome = routedAccepted
	}
	return a
}

// triedTerminal is a terminal at which a transaction was tried, with the terminal's current name.
type triedTerminal struct {
	Terminal  ledger.ID   `json:"terminal_id"`
	Name      *string     `json:"name"`
	Priority  int         `json:"priority"`
	Outcome   string      `json:"outcome"`
	Reason    *string     `json:"reason"`
	Code      *string     `json:"error_code"`
	At        web.Instant `json:"at"`
	Attempt   int         `json:"attempt"`   // number of the payer's attempt, from 1; always 1 if the payment is not hosted
	Reference *ledger.ID  `json:"reference"` // the provider's id for the attempt's charge; nil if it was never sent
}

func (h *Handlers) newTriedTerminal(org ledger.ID, a *payment.Attempt) triedTerminal {
	row := triedTerminal{
		Terminal: a.Terminal, Priority: a.Priority, Outcome: a.Outcome, Reason: web.NilIfEmpty(a.Failure.Describe("en")), At: web.Instant(a.At),
	}
	if t, found := h.cfg.Directory.Terminal(org, a.Terminal); found {
		row.Name = web.NilIfEmpty(t.Name)
	}
	if a.Failure.Code.IsPublished() {
		code := string(a.Failure.Code)
		row.Code = &code
	}
	return row
}

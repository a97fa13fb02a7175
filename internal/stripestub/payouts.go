package stripestub

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// payoutTransit is the time after which a payout arrives.
const payoutTransit = 48 * time.Hour

// payout is a Payout to the account's own bank account.
type payout struct {
	id                                   string
	created, arrival                     int64
	amount                               int64
	currency, status, method             string // status: pending, paid, failed or canceled
	description, destination, descriptor string
	failureCode                          string
	metadata                             map[string]string
	entry, failureEntry                  *entry
}

func (s *Stub) createPayout(c *call) (object, *failure) {
	currency, f := checkCurrency(c.text("currency"))
	if f != nil {
		return nil, f
	}
	amount := c.integer("amount")
	destination := c.text("destination")
	switch {
	case s.payoutsForbidden:
		return nil, invalid("payouts_not_allowed", "", "Payouts have been disabled for this account.")
	case amount < 1:
		return nil, invalid("parameter_invalid_integer", "amount", "This value must be greater than or equal to 1.")
	case destination != "" && !strings.HasPrefix(destination, "ba_") && !strings.HasPrefix(destination, "card_"):
		return nil, missing(400, "external account", destination, "destination")
	case amount > s.balances()[currency].Available:
		return nil, invalid("balance_insufficient", "", "You have insufficient funds in your Stripe account for this transfer. Your card balance is too low. You can use the /v1/balance endpoint to view your Stripe balance (for more details, see stripe.com/docs/api#balance).")
	}
	if f := checkDigits(amount, currency, wholeUnitPayout); f != nil {
		return nil, f
	}
	p := &payout{
		id: newID("po"), created: s.now().Unix(), arrival: s.now().Add(payoutTransit).Unix(), amount: amount, currency: currency, status: "pending", method: c.text("method"),
		description: c.text("description"), destination: destination, descriptor: c.text("statement_descriptor"), metadata: c.metadata(nil),
	}
	set(&p.method, "standard")
	set(&p.destination, "ba_stripestub")
	s.objects[p.id], s.payouts = p, append(s.payouts, p)
	p.entry = s.addEntry(&entry{kind: "payout", category: "payout", amount: -amount, currency: currency, source: p.id, isAvailable: true})
	s.later(payoutTransit, func() { s.endPayout(p, "paid", "") })
	s.emit("payout.created", p)
	return p.json(), nil
}

// endPayout ends a payout that is pending. If it did not arrive, the money returns to the balance.
func (s *Stub) endPayout(p *payout, status, failureCode string) {
	if p.status != "pending" && (p.status != "paid" || status != "failed") {
		return
	}
	p.status, p.failureCode = status, failureCode
	if status != "paid" {
		kind := map[string]string{"failed": "payout_failure", canceled: "payout_cancel"}[status]
		p.failureEntry = s.addEntry(&entry{kind: kind, category: "payout_reversal", amount: p.amount, currency: p.currency, source: p.id, isAvailable: true})
	}
	s.emit("payout."+status, p)
}

// FailPayout lets a payout that is pending or paid fail, with a failure_code of Stripe such as account_closed.
func (s *Stub) FailPayout(id, failureCode string) error {
	s.lock()
	defer s.mu.Unlock()
	p, ok := s.objects[id].(*payout)
	if !ok || p.status != "pending" && p.status != "paid" {
		return fmt.Errorf("stripestub: %s is no payout that can fail", id)
	}
	s.endPayout(p, "failed", failureCode)
	return nil
}

func (s *Stub) cancelPayout(c *call) (object, *failure) {
	p, ok := s.objects[c.id].(*payout)
	if !ok {
		return nil, missing(http.StatusNotFound, "payout", c.id, "payout")
	}
	if p.status != "pending" {
		return nil, invalid("", "", "Payouts that are not pending can't be canceled. This payout has a status of %s.", p.status)
	}
	s.endPayout(p, canceled, "")
	return p.json(), nil
}

func (s *Stub) listPayouts(c *call) (object, *failure) {
	return listOf(c, s.payouts, func(p *payout) bool { return c.admits("status", p.status) })
}

func (p *payout) json() object {
	o := object{
		"id": p.id, "object": "payout", "amount": p.amount, "application_fee": nil, "application_fee_amount": nil, "arrival_date": p.arrival, "automatic": false,
		"balance_transaction": p.entry.id, "created": p.created, "currency": p.currency, "description": nullable(p.description), "destination": p.destination,
		"failure_balance_transaction": nil, "failure_code": nullable(p.failureCode), "failure_message": nil, "livemode": false, "metadata": p.metadata, "method": p.method,
		"original_payout": nil, "payout_method": nil, "reconciliation_status": "not_applicable", "reversed_by": nil, "source_type": "card", "statement_descriptor": nullable(p.descriptor),
		"status": p.status, "trace_id": object{"status": "pending", "value": nil}, "type": "bank_account",
	}
	if p.failureCode != "" {
		o["failure_message"] = "The bank has returned the payout: " + p.failureCode
	}
	if p.failureEntry != nil {
		o["failure_balance_transaction"] = p.failureEntry.id
	}
	return o
}

package transactions

import (
	"math/big"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// PastResponse is a stored transaction, together with what an earlier response shows of it.
type PastResponse struct {
	Scan    *scan.Scan
	Record  *scan.Record
	Stored  *payment.Record // the transaction as stored now
	Status  payment.Status  // status in the response
	Refunds []ledger.ID     // ids of the refunds in the response
	Pending bool            // whether the response shows the last refund as pending
}

// notStoredMembers lists members of a transaction that are not compared with an earlier response, because the store
// does not say which values they had then. The function applies tells whether the members are left out for a certain
// response.
var notStoredMembers = []struct {
	members []string
	applies func(p *PastResponse) bool
}{
	// The address of the payer's page contains a token, and most API clients do not get this address.
	{[]string{"widget_url"}, func(p *PastResponse) bool { return p.Status == payment.Created && p.Stored.Hosted }},
	{[]string{"simple_auth_redirect_url"}, func(p *PastResponse) bool {
		return p.Status == payment.ActionRequired || p.Status == payment.Created && p.Stored.Hosted
	}},
	// The record has only the last action that the provider asked of the payer. The response may show an earlier action.
	{
		[]string{"auth_params", payment.MaterialField, "availble_destinations", "expires_at"},
		func(p *PastResponse) bool { return p.Status == payment.ActionRequired && p.Action() == nil },
	},
	// When the response was sent, the transaction may have been at another terminal, with other terms, which refused it later.
	{
		[]string{
			"amount_with_fee", "amount_dest", "merchant_amount", "currency_dest", "currency_rate", "network", "network_dest", "scale", "scale_dest",
			"description", "route",
		},
		func(p *PastResponse) bool {
			return p.Status == payment.Authorizing && len(refusedAttempts(p.Stored)) > 0
		},
	},
	// The response may show an earlier attempt of the payer, with another card and another terminal.
	{
		[]string{
			"amount_with_fee", "amount_dest", "merchant_amount", "currency_dest", "currency_rate", "network", "network_dest", "scale", "scale_dest",
			"description", "route", "payment_method", "merchant_meta",
		},
		func(p *PastResponse) bool {
			return len(p.Stored.EndedAttempts) > 0 && (p.Status == payment.Authorizing || p.Status == payment.ActionRequired || p.Status.AtProvider())
		},
	},
	// If a transaction has gone back to its payer after a refused attempt, it says why the last attempt was refused.
	{[]string{"error_code", "error_description"}, func(p *PastResponse) bool { return p.Status == payment.Created && len(p.Stored.EndedAttempts) > 0 }},
	// The network may have become known later, from the terminal or from what the payer entered.
	{[]string{"network", "scale"}, func(p *PastResponse) bool { return p.Status == payment.Created && !p.isCurrent() }},
	// The record has only the metadata keys that the provider sent last.
	{[]string{"merchant_meta"}, func(p *PastResponse) bool { return len(p.Stored.RailMeta) > 0 && !p.isCurrent() }},
	// A held transaction keeps the reason of a refused capture until a later capture succeeds.
	{[]string{"error_code", "error_description"}, func(p *PastResponse) bool { return p.Status.IsHeld() && p.count(payment.CommitRefused) > 0 }},
	// If a provider corrects an outcome, the new reason replaces the first reason.
	{[]string{"error_code", "error_description"}, func(p *PastResponse) bool { return p.Status == payment.Rejected && !p.isCurrent() }},
	// The record says when a hold ends only as long as the hold is open.
	{[]string{"hold_expires_at"}, func(p *PastResponse) bool { return p.Status.IsHeld() && !p.isCurrent() }},
	// The provider may have sent the reference number after the response.
	{[]string{"rrn"}, func(p *PastResponse) bool {
		return p.Status.IsHeld() && !p.isCurrent() || p.Stored.LateSettlement && !wasSettled(p.Status)
	}},
	// The record no longer has the refund.
	{[]string{"refund_msg"}, func(p *PastResponse) bool {
		last := len(p.Refunds) - 1
		return last >= 0 && p.IsDropped(p.Refunds[last])
	}},
}

// UncomparedMembers returns the names of the members that are not compared with the response.
func (p *PastResponse) UncomparedMembers() (names []string) {
	for _, exception := range notStoredMembers {
		if exception.applies(p) {
			names = append(names, exception.members...)
		}
	}
	return names
}

// isCurrent tells whether the transaction still has the status of the response.
func (p *PastResponse) isCurrent() bool { return p.Status == p.Stored.Status }

// wasSettled tells whether money has moved in a transaction with this status.
func wasSettled(s payment.Status) bool {
	return s == payment.Charged || s == payment.Refunding || s == payment.Refunded || s == payment.Reversed
}

// WasInStatus tells whether the transaction was ever in the status of the response. If the status is final, the
// transaction must still be in it.
func (p *PastResponse) WasInStatus() bool {
	return wasIn(p.Record, p.Status) && (p.isCurrent() || !payment.Machine.IsFinal(p.Status))
}

// PastRecord returns the record as it was when the response was sent: the stored record without later changes.
func (p *PastResponse) PastRecord() *payment.Record {
	record, isCurrent, isSettled := *p.Stored, p.isCurrent(), wasSettled(p.Status)
	record.Status, record.FinishedAt = p.Status, p.finishedAt()
	record.Refunds, record.RefundedAmount = p.refunds()
	if !isCurrent {
		record.Failure, record.HoldUntil = payment.Failure{}, 0
	}
	if !isCurrent && !isSettled && !p.Status.IsFinal() {
		record.RRN = ""
	}
	if !isSettled {
		record.CapturedAmount = money.Amount{}
	}
	if p.Status != payment.Reversed {
		record.ReturnID = ledger.ID{}
	}
	if p.Status == payment.Created && !isCurrent { // while the transaction waited for its payer, it had no terminal and no payment method
		record.Terminal, record.Route, record.Rate, record.Method = ledger.ID{}, "", money.Rate{}, ""
	}
	if !isCurrent && !isSettled { // before a part was captured, the price was the price of the whole amount
		costs := priceOf(&record, scan.BigAmount(record.Amount))
		record.AmountWithFee, record.DestAmount = amountOf(costs.AmountWithFee), amountOf(costs.Dest)
		record.MerchantAmount = money.Signed{Negative: costs.Merchant.Sign() < 0, Abs: amountOf(costs.Merchant)}
	}
	return &record
}

// Action returns the action that the payer had to take when the response was sent. It returns nil if there was no action, or if
// the record may have had another action then.
func (p *PastResponse) Action() *payment.Action {
	if p.Status != payment.ActionRequired || !p.isCurrent() || p.count(payment.RequireAction, payment.Reissue) != 1 {
		return nil
	}
	return p.Stored.Action
}

// amountOf converts the absolute value of a number to an amount. A number beyond the range of amounts becomes zero; in this
// case rule 3 reports the record's price.
func amountOf(n *big.Int) money.Amount {
	amount, _ := money.Parse(new(big.Int).Abs(n).String())
	return amount
}

// refunds returns the refunds that the record had when the response was sent, and the sum of those that had succeeded by then.
// These are all stored refunds up to the last refund in the response. If the record has dropped a refund that the response
// shows, only the id of this refund is known.
func (p *PastResponse) refunds() (refunds []payment.RefundRecord, refunded money.Amount) {
	nextIndex := 0 // index of the first stored refund that is not in the result yet
	for _, id := range p.Refunds {
		if index := p.refundIndex(id); index < 0 {
			refunds = append(refunds, payment.RefundRecord{ID: id})
		} else if index >= nextIndex {
			refunds, nextIndex = append(refunds, p.Stored.Refunds[nextIndex:index+1]...), index+1
		}
	}
	if n := len(refunds); n > 0 && p.Pending {
		last := &refunds[n-1]
		last.Status, last.Failure, last.FinishedAt = payment.RefundRequested, payment.Failure{}, 0
		if p.Status == payment.Refunding {
			last.Status = payment.RefundIsPending
		}
	}
	for i := range refunds {
		// The sum does not include refunds of money that arrived too late, because this money was never the merchant's.
		if refunds[i].Status == payment.RefundSucceeded && !p.Stored.LateSettlement {
			refunded, _ = refunded.Add(refunds[i].Amount)
		}
	}
	return refunds, refunded
}

// IsDropped tells whether the record no longer has the refund. A record drops failed refunds to make room for new ones.
func (p *PastResponse) IsDropped(id ledger.ID) bool { return p.refundIndex(id) < 0 }

// refundIndex returns the index of a refund in the record. It returns -1 if the record does not have the refund.
func (p *PastResponse) refundIndex(id ledger.ID) int {
	return slices.IndexFunc(p.Stored.Refunds, func(f payment.RefundRecord) bool { return f.ID == id })
}

// finishedAt returns the time that a correct response shows in the member "finished".
func (p *PastResponse) finishedAt() (at ledger.Micros) {
	status := p.Status
	switch isSettled := wasSettled(status); {
	case p.isCurrent(), isSettled && p.Stored.Status != payment.Reversed:
		return p.Record.Header.FinishedAt
	case isSettled:
		status = payment.Charged
	case !status.IsFinal():
		return 0
	}
	p.eachEvent(func(e *ledger.Event) bool {
		if e.To == string(status) && Finishes(payment.Status(e.From), status) {
			at = e.Booked
		}
		return at == 0
	})
	return at
}

// count returns the number of the transaction's events with one of these names.
func (p *PastResponse) count(names ...payment.Event) (n int) {
	p.eachEvent(func(e *ledger.Event) bool {
		if slices.Contains(names, payment.Event(e.Name)) {
			n++
		}
		return true
	})
	return n
}

// eachEvent calls fn with the transaction's events, newest first, until fn returns false.
func (p *PastResponse) eachEvent(fn func(e *ledger.Event) bool) {
	err := p.Scan.View.SourceEvents(p.Record.Organization.ID, p.Record.Source, func(e ledger.Event) (bool, error) {
		return fn(&e), nil
	})
	if err != nil {
		p.Scan.Report.Breach(findings.RuleStates, "organization %v: %s: %v", p.Record.Organization.ID, scan.NameOf(p.Record.Source), err)
	}
}

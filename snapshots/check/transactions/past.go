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

// Past is a stored transaction as it was when a response showed it.
type Past struct {
	Scan    *scan.Scan
	Record  *scan.Record
	Stored  *payment.Record // as it is now
	Status  payment.Status  // in the response
	Refunds []ledger.ID     // in the response
	Pending bool            // the last refund in the response was pending
}

// notStored lists the members of a transaction that are not compared with a response, because
// the store does not determine what they were.
var notStored = []struct {
	members []string
	when    func(was *Past) bool
}{
	// The address of the payer's page contains a token, and most callers do not get the address.
	{[]string{"widget_url"}, func(was *Past) bool { return was.Status == payment.Created && was.Stored.Hosted }},
	{[]string{"simple_auth_redirect_url"}, func(was *Past) bool {
		return was.Status == payment.ActionRequired || was.Status == payment.Created && was.Stored.Hosted
	}},
	// The record has only the last action that the rail published.
	{
		[]string{"auth_params", payment.MaterialField, "availble_destinations", "expires_at"},
		func(was *Past) bool { return was.Status == payment.ActionRequired && was.Action() == nil },
	},
	// At the time the transaction may have been at another terminal, which refused it and had other terms.
	{
		[]string{
			"amount_with_fee", "amount_dest", "merchant_amount", "currency_dest", "currency_rate", "network", "network_dest", "scale", "scale_dest",
			"description", "route",
		},
		func(was *Past) bool {
			return was.Status == payment.Authorizing && len(refusedAttempts(was.Stored)) > 0
		},
	},
	// The terminal or the payer's credentials may have named the network later.
	{[]string{"network", "scale"}, func(was *Past) bool { return was.Status == payment.Created && !was.isCurrent() }},
	// The record has only the last keys of the rail.
	{[]string{"merchant_meta"}, func(was *Past) bool { return len(was.Stored.RailMeta) > 0 && !was.isCurrent() }},
	// The reason of a refused capture stays on a held transaction until a later capture succeeds.
	{[]string{"error_code", "error_description"}, func(was *Past) bool { return was.Status.Held() && was.count(payment.CommitRefused) > 0 }},
	// A rail that corrects itself replaces its first reason.
	{[]string{"error_code", "error_description"}, func(was *Past) bool { return was.Status == payment.Rejected && !was.isCurrent() }},
	// The record has the end of a hold only as long as the hold is open.
	{[]string{"hold_expires_at"}, func(was *Past) bool { return was.Status.Held() && !was.isCurrent() }},
	// The provider may have sent the reference number later.
	{[]string{"rrn"}, func(was *Past) bool {
		return was.Status.Held() && !was.isCurrent() || was.Stored.SettledLate && !wasSettled(was.Status)
	}},
	// The record has dropped the refund.
	{[]string{"refund_msg"}, func(was *Past) bool {
		last := len(was.Refunds) - 1
		return last >= 0 && was.IsDropped(was.Refunds[last])
	}},
}

// NotStored returns the members that are not compared with the response.
func (was *Past) NotStored() (names []string) {
	for _, lost := range notStored {
		if lost.when(was) {
			names = append(names, lost.members...)
		}
	}
	return names
}

// isCurrent tells whether the transaction still has the status of the response.
func (was *Past) isCurrent() bool { return was.Status == was.Stored.Status }

// wasSettled tells whether money has moved in a transaction with the status.
func wasSettled(s payment.Status) bool {
	return s == payment.Charged || s == payment.Refunding || s == payment.Refunded || s == payment.Reversed
}

// WasInStatus tells whether the transaction was ever in the status of the response. If that status has
// no further transition, the transaction must still be in it.
func (was *Past) WasInStatus() bool {
	return wasIn(was.Record, was.Status) && (was.isCurrent() || !payment.Machine.Final(was.Status))
}

// RecordThen returns the record as it was in the status of the response: the stored record without
// later changes.
func (was *Past) RecordThen() *payment.Record {
	then, current, settled := *was.Stored, was.isCurrent(), wasSettled(was.Status)
	then.Status, then.Finished = was.Status, was.finished()
	then.Refunds, then.Refunded = was.refunds()
	if !current {
		then.Failure, then.HoldUntil = payment.Failure{}, 0
	}
	if !current && !settled && !was.Status.Final() {
		then.RRN = ""
	}
	if !settled {
		then.Captured = money.Amount{}
	}
	if was.Status != payment.Reversed {
		then.ReturnID = ledger.ID{}
	}
	if was.Status == payment.Created && !current { // while it waited for its payer it had no terminal and no payment method
		then.Terminal, then.Route, then.Rate, then.Method = ledger.ID{}, "", money.Rate{}, ""
	}
	if !current && !settled { // the price was that of the whole amount, before a part of it was captured
		costs := priceOf(&then, scan.BigAmount(then.Amount))
		then.AmountWithFee, then.Dest = amountOf(costs.AmountWithFee), amountOf(costs.Dest)
		then.Merchant = money.Signed{Negative: costs.Merchant.Sign() < 0, Abs: amountOf(costs.Merchant)}
	}
	return &then
}

// Action returns the action that the response showed if the payer could still act; nil if there
// was no action, or if the record may have had another action.
func (was *Past) Action() *payment.Action {
	if was.Status != payment.ActionRequired || !was.isCurrent() || was.count(payment.Act, payment.Reissue) != 1 {
		return nil
	}
	return was.Stored.Action
}

// amountOf returns a number without its sign as an amount. A number beyond the range of amounts
// becomes zero, and rule 3 reports the price.
func amountOf(n *big.Int) money.Amount {
	amount, _ := money.Parse(new(big.Int).Abs(n).String())
	return amount
}

// refunds returns the refunds up to the last one that the response shows, and the sum of those
// that had succeeded. Of a refund that the record has dropped, the result has only the id.
func (was *Past) refunds() (refunds []payment.RefundRecord, refunded money.Amount) {
	next := 0
	for _, id := range was.Refunds {
		if at := was.refund(id); at < 0 {
			refunds = append(refunds, payment.RefundRecord{ID: id})
		} else if at >= next {
			refunds, next = append(refunds, was.Stored.Refunds[next:at+1]...), at+1
		}
	}
	if n := len(refunds); n > 0 && was.Pending {
		f := &refunds[n-1]
		f.Status, f.Failure, f.Finished = payment.RefundRequested, payment.Failure{}, 0
		if was.Status == payment.Refunding {
			f.Status = payment.RefundIsPending
		}
	}
	for i := range refunds {
		if refunds[i].Status == payment.RefundSucceeded && !was.Stored.SettledLate { // refunds of money that arrived too late are not in the sum: the money was never the merchant's
			refunded, _ = refunded.Add(refunds[i].Amount)
		}
	}
	return refunds, refunded
}

// IsDropped tells whether the record has dropped the refund. It drops failed refunds to make room.
func (was *Past) IsDropped(id ledger.ID) bool { return was.refund(id) < 0 }

// refund returns the index of a refund in the record; -1 if the record does not have it.
func (was *Past) refund(id ledger.ID) int {
	return slices.IndexFunc(was.Stored.Refunds, func(f payment.RefundRecord) bool { return f.ID == id })
}

// finished returns the time that the transaction showed in the response as "finished".
func (was *Past) finished() (at ledger.Micros) {
	status := was.Status
	switch settled := wasSettled(status); {
	case was.isCurrent(), settled && was.Stored.Status != payment.Reversed:
		return was.Record.Stamp.Finished
	case settled:
		status = payment.Charged
	case !status.Final():
		return 0
	}
	was.events(func(e *ledger.Event) bool {
		if e.To == string(status) && Finishes(payment.Status(e.From), status) {
			at = e.Booked
		}
		return at == 0
	})
	return at
}

// count returns the number of the transaction's events with one of these names.
func (was *Past) count(names ...payment.Event) (n int) {
	was.events(func(e *ledger.Event) bool {
		if slices.Contains(names, payment.Event(e.Name)) {
			n++
		}
		return true
	})
	return n
}

// events calls fn with the transaction's events, newest first, until fn returns false.
func (was *Past) events(fn func(e *ledger.Event) bool) {
	err := was.Scan.View.SourceEvents(was.Record.Organization.ID, was.Record.Source, func(e ledger.Event) (bool, error) {
		return fn(&e), nil
	})
	if err != nil {
		was.Scan.Report.Breach(findings.RuleStates, "organization %v: %s: %v", was.Record.Organization.ID, scan.Named(was.Record.Source), err)
	}
}

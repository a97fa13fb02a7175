package answers

import (
	"math/big"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
	"mizan/snapshots/check/transactions"
)

// past is a stored transaction at the time at which an answer showed it.
type past struct {
	*Check
	r      *scan.Record
	p      *payment.Record // as it is stored
	shown  *shownTransaction
	status payment.Status // in the answer
}

// notStored lists the members of a transaction that are not compared with an answer, because
// nothing that is stored determines what they were.
var notStored = []struct {
	members []string
	when    func(was *past) bool
}{
	// The address of the payer's page has a token, and most callers get no address.
	{[]string{"widget_url", "simple_auth_redirect_url"}, func(was *past) bool { return was.status == payment.Created && was.p.Hosted }},
	// The rail may have published another action since, and an answer after its end shows none.
	{
		[]string{"auth_params", payment.MaterialField, "simple_auth_redirect_url", "availble_destinations", "expires_at"},
		func(was *past) bool { return was.status == payment.ActionRequired },
	},
	// A terminal that refused the transaction may have had other terms.
	{
		[]string{
			"amount_with_fee", "amount_dest", "merchant_amount", "currency_dest", "currency_rate", "network", "network_dest", "scale", "scale_dest",
			"description", "route",
		},
		func(was *past) bool {
			return was.status == payment.Authorizing && len(transactions.RefusedAttempts(was.p)) > 0
		},
	},
	// The terminal or the payer's credentials may have named the network later.
	{[]string{"network", "scale"}, func(was *past) bool { return was.status == payment.Created && !was.current() }},
	// The record has only the last keys of the rail.
	{[]string{"merchant_meta"}, func(was *past) bool { return len(was.p.RailMeta) > 0 && !was.current() }},
	// A refused capture leaves its reason on a held transaction, until a later one succeeds.
	{[]string{"error_code", "error_description"}, func(was *past) bool { return was.status.Held() && was.had(payment.CommitRefused) }},
	// A rail that corrects itself replaces its first reason.
	{[]string{"error_code", "error_description"}, func(was *past) bool { return was.status == payment.Rejected && !was.current() }},
	// The record has the end of a hold only as long as it is held.
	{[]string{"hold_expires_at"}, func(was *past) bool { return was.status.Held() && !was.current() }},
	// The provider may have sent the number later.
	{[]string{"rrn"}, func(was *past) bool {
		return was.status.Held() && !was.current() || was.p.SettledLate && !wasSettled(was.status)
	}},
	// The record has dropped the refund.
	{[]string{"refund_msg"}, func(was *past) bool {
		last := len(was.shown.refunds) - 1
		return last >= 0 && was.answers.dropped(was.p, was.shown.refunds[last])
	}},
}

// undetermined returns the members that notStored excepts from the comparison.
func (was *past) undetermined() (names []string) {
	for _, lost := range notStored {
		if lost.when(was) {
			names = append(names, lost.members...)
		}
	}
	return names
}

// current tells whether the transaction still has the status.
func (was *past) current() bool { return was.status == was.p.Status }

// wasSettled tells whether money has moved in a transaction with the status.
func wasSettled(s payment.Status) bool {
	return s == payment.Charged || s == payment.Refunding || s == payment.Refunded || s == payment.Reversed
}

// record returns the record as it was: the stored one without what came after the status.
func (was *past) record() *payment.Record {
	then, current, settled := *was.p, was.current(), wasSettled(was.status)
	then.Status, then.Finished = was.status, was.finished()
	then.Refunds, then.Refunded = was.refunds()
	if !current {
		then.Failure, then.HoldUntil = payment.Failure{}, 0
	}
	if !current && !settled && !was.status.Final() {
		then.RRN = ""
	}
	if !settled {
		then.Captured = money.Amount{}
	}
	if was.status != payment.Reversed {
		then.ReturnID = ledger.ID{}
	}
	if was.status == payment.Created && !current { // it waited for its payer: it had no terminal and no payment method
		then.Terminal, then.Route, then.Rate, then.Method = ledger.ID{}, "", money.Rate{}, ""
	}
	if !current && !settled { // the whole amount had a price, before a part of it was captured
		price := transactions.PriceOf(&then, scan.BigAmount(then.Amount))
		then.WithFee, then.Dest = amountOf(price.WithFee), amountOf(price.Dest)
		then.Merchant = money.Signed{Negative: price.Merchant.Sign() < 0, Abs: amountOf(price.Merchant)}
	}
	return &then
}

// amountOf returns a number without its sign as an amount. A number beyond the range of amounts
// becomes zero, and rule 3 reports the price.
func amountOf(n *big.Int) money.Amount {
	amount, _ := money.Parse(new(big.Int).Abs(n).String())
	return amount
}

// refunds returns the refunds up to the last one that the answer shows, and the sum of those
// that had succeeded. A refund that the record has dropped has only its id.
func (was *past) refunds() (refunds []payment.RefundRecord, refunded money.Amount) {
	next, last := 0, ""
	for _, f := range was.shown.refunds {
		last = was.answers.states.Names[f.status]
		if at := refundOf(was.p, f.id); at < 0 {
			refunds = append(refunds, payment.RefundRecord{ID: f.id})
		} else if at >= next {
			refunds, next = append(refunds, was.p.Refunds[next:at+1]...), at+1
		}
	}
	if n := len(refunds); n > 0 && last == payment.RefundAsked.String() {
		f := &refunds[n-1]
		f.Status, f.Failure, f.Finished = payment.RefundAsked, payment.Failure{}, 0
		if was.status == payment.Refunding {
			f.Status = payment.RefundIsPending
		}
	}
	for i := range refunds {
		if refunds[i].Status == payment.RefundSucceeded && !was.p.SettledLate { // money that came too late was never the merchant's
			refunded, _ = refunded.Add(refunds[i].Amount)
		}
	}
	return refunds, refunded
}

// finished returns the finish time that the transaction showed in the status.
func (was *past) finished() (at ledger.Micros) {
	as := was.status
	switch settled := wasSettled(as); {
	case was.current(), settled && was.p.Status != payment.Reversed:
		return was.r.Stamp.Finished
	case settled:
		as = payment.Charged
	case !as.Final():
		return 0
	}
	was.events(func(e *ledger.Event) bool {
		if e.To == string(as) && transactions.Finishes(payment.Status(e.From), as) {
			at = e.Booked
		}
		return at == 0
	})
	return at
}

// had tells whether the transaction has had the event.
func (was *past) had(name payment.Event) (found bool) {
	was.events(func(e *ledger.Event) bool {
		found = e.Name == string(name)
		return !found
	})
	return found
}

// events calls fn with the transaction's events, newest first, until it returns false.
func (was *past) events(fn func(e *ledger.Event) bool) {
	err := was.View.SourceEvents(was.r.Organization.ID, was.r.Source, func(e ledger.Event) (bool, error) {
		return fn(&e), nil
	})
	if err != nil {
		was.Report.Breach(findings.RuleStates, "organization %v: %s: %v", was.r.Organization.ID, scan.Named(was.r.Source), err)
	}
}

// differing returns the names of the members in which the answer differs from a form of the
// transaction.
func (was *past) differing(form []byte, except []string) []string {
	a, s := &was.answers, parseObject(form)
	refunds := a.readRefunds(s)
	names := a.differing(a.membersOf(s), was.shown.members, except)
	if !slices.EqualFunc(refunds, was.shown.refunds, func(stored, shown shownRefund) bool {
		return stored == shown || stored.id == shown.id && a.dropped(was.p, shown)
	}) {
		names = append(names, "refunds")
	}
	return names
}

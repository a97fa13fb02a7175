package check

import (
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// followEntry keeps what the record's stamp and row must agree with.
func (j *transactionsCheck) followEntry(h *history, e *ledger.Event, closed hold) {
	switch e.Entry.Phase {
	case ledger.Pending:
		if h.held != 0 {
			j.wrongEvent(j.organization.id, e, "it holds twice")
		}
		h.held = e.Seq
	case ledger.Capture, ledger.Void:
		h.held = 0
	}
	histories := j.organization.histories
	m := histories.meaning(e.Entry.Postings)
	if e.Entry.Phase == ledger.Posted || e.Entry.Phase == ledger.Capture {
		if h.settled == 0 {
			h.settled = e.Seq
		}
		h.net = h.net.plus(m)
	}
	switch e.Source.Kind {
	case ledger.Settlement: // an event an environment
		h.entry = uint64(h.net)
	case ledger.Transaction:
		j.followMoney(h, e, m, closed)
	}
}

// followMoney notes what a transaction's entry says, by its event, and checks
// held ≥ captured ≥ returned on the provider's account.
func (j *transactionsCheck) followMoney(h *history, e *ledger.Event, m meaning, closed hold) {
	histories := j.organization.histories
	amount, _ := onProvider(e.Entry.Postings)
	switch payment.Event(e.Name) {
	case payment.Authorise, payment.HoldPayment:
		if h.asked[callCharge] > 1 && e.Name == string(payment.Authorise) {
			histories.rerouted[e.Source] = append(histories.rerouted[e.Source], h.hold)
		}
		if h.hold = m; e.Name == string(payment.Authorise) {
			h.holds = increment(h.holds)
		}
	case payment.Settle, payment.Capture:
		if held, _ := onProvider(closed.postings); closed.postings != nil && held.Less(amount) {
			j.wrongEvent(j.organization.id, e, "it captures more than was held")
		}
		j.settle(h, amount, m)
	case payment.Return:
		j.settle(h, amount, m)
		j.followReturn(e, m)
	case payment.SettleLate:
		h.marks |= late
		j.settle(h, amount, m)
	case payment.GaveBack:
		if h.net != 0 {
			j.wrongEvent(j.organization.id, e, "it does not give back what is in suspense")
		}
		j.raise(&histories.money(h).refunded, amount, e)
	case payment.Refund, payment.RefundDone, payment.RefundRefused, payment.FurtherRefundRefused:
		j.followRefund(h, e, m)
	}
}

// settle notes what was settled.
func (j *transactionsCheck) settle(h *history, amount money.Amount, m meaning) {
	if h.marks&late == 0 {
		h.marks |= booked
	}
	h.entry = uint64(m)
	j.organization.histories.money(h).captured = amount
}

// followRefund notes a refund's intent, or what became of it.
func (j *transactionsCheck) followRefund(h *history, e *ledger.Event, m meaning) {
	histories := j.organization.histories
	money := histories.money(h)
	if payment.Event(e.Name) == payment.Refund {
		r := refund{before: h.refunds, meaning: m}
		r.provider, _ = onProvider(e.Entry.Postings)
		r.fees = onFees(e.Entry.Postings)
		r.dest = onDestination(e.Entry.Postings)
		h.refunds = histories.refunds.add(r)
		if all, err := money.refunded.Add(r.provider); err != nil || money.captured.Less(all) {
			j.wrongEvent(j.organization.id, e, "more is given back than was captured")
		}
		return
	}
	if h.refunds < 0 {
		return // followIntent has said that nothing was asked for
	}
	r := histories.refunds.at(h.refunds)
	if m != r.meaning {
		j.wrongEvent(j.organization.id, e, "it is not what the refund holds")
	}
	if payment.Event(e.Name) != payment.RefundDone {
		r.state = refundRefused
		return
	}
	r.state = refundDone
	j.raise(&money.refunded, r.provider, e)
}

// followReturn checks that a return, which is a transaction of its own, is the
// mirror of what is left of the charge whose entry it reverses.
func (j *transactionsCheck) followReturn(e *ledger.Event, m meaning) {
	reversed, _, found, err := j.view.Event(j.organization.id, e.Entry.Reverses)
	var original *history
	if err == nil && found && e.Entry.Reverses < e.Seq {
		original = j.organization.histories.find(reversed.Source)
	}
	if original == nil || original.settled != e.Entry.Reverses || original.marks&booked == 0 || reversed.Source.Kind != ledger.Transaction {
		j.wrongEvent(j.organization.id, e, "it reverses what is no charge")
		return
	}
	if original.marks&returned != 0 {
		j.wrongEvent(j.organization.id, e, "it reverses what is reversed already")
		return
	}
	original.marks |= returned
	if original.net.plus(m) != 0 {
		j.wrongEvent(j.organization.id, e, "it is not the mirror of what was left of the charge")
	}
}

func (j *transactionsCheck) raise(sum *money.Amount, by money.Amount, e *ledger.Event) {
	total, err := sum.Add(by)
	if err != nil {
		j.wrongEvent(j.organization.id, e, "its amounts are out of range")
		return
	}
	*sum = total
}

func onFees(postings []ledger.Posting) money.Amount {
	return sumOf(postings, func(p *ledger.Posting) bool { return p.Account == ledger.Fees }).Abs
}

// onDestination is what an entry moves between the exchange position and another
// asset than the provider's: nothing, if nothing is converted.
func onDestination(postings []ledger.Posting) money.Amount {
	var source money.Asset
	for i := range postings {
		if strings.HasPrefix(string(postings[i].Account), providerHead) {
			source = postings[i].Asset
		}
	}
	return sumOf(postings, func(p *ledger.Posting) bool { return p.Account == ledger.FXPosition && p.Asset != source }).Abs
}

// transactionEntries is POSTINGS' table "Payments", copied by hand. What is not
// in it has none.
var transactionEntries = map[payment.Event]carries{
	payment.Authorise:            mayHold,
	payment.HoldPayment:          holds,
	payment.Settle:               settles,
	payment.Capture:              captures,
	payment.Reroute:              releases,
	payment.Decline:              releases,
	payment.Fail:                 releases,
	payment.Void:                 releases,
	payment.Expire:               releases,
	payment.Refund:               holds,
	payment.RefundDone:           captures,
	payment.RefundRefused:        voids,
	payment.FurtherRefundRefused: voids,
	payment.Return:               posts,
	payment.SettleLate:           posts,
	payment.GaveBack:             posts,
}

// finishes tells whether a transaction reaches a final status by the step
// (specification, "finished"). A refund that is refused leads back to where the
// transaction was finished before.
func finishes(from, to payment.Status) bool {
	switch from {
	case to:
		return false
	case payment.Charged, payment.Refunding, payment.Refunded:
		return to == payment.Reversed
	}
	return to.Final()
}

package answers

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/findings"
)

// Rule 1, refunds. The refunds that an answer shows agree with the answer's own sums and with
// the stored refunds.

// shownRefund is a refund as an answer showed it: one hash of the fields that are always shown,
// and one of the fields that are final when the refund has ended.
type shownRefund struct {
	id     ledger.ID
	line   uint32
	status payment.RefundStatus // 0: the status is unknown
	always uint32
	ended  uint32 // 0 for a refund that is pending
}

// readRefunds records the refunds that an answer shows of a transaction, and compares the
// answer's other fields with them.
func (c *Check) readRefunds(n uint32, id ledger.ID, ack *transactionAnswer, s object) {
	var list []object
	if v := s["refunds"]; len(v) != 0 && json.Unmarshal(v, &list) != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v is answered with refunds that are no list", n, id)
		return
	}
	wrong := func(what string) {
		c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v is answered with %s", n, id, what)
	}
	var returned money.Amount
	for _, one := range list {
		f, err := c.answers.shownRefund(n, one)
		if err != nil {
			wrong("a refund without an id")
			continue
		}
		if amount, err := money.Parse(one.text("amount")); err == nil && f.status == payment.RefundSucceeded {
			if sum, err := returned.Add(amount); err == nil {
				returned = sum
			}
		}
		if !slices.ContainsFunc(ack.shownRefunds, func(before shownRefund) bool {
			before.line = f.line
			return before == f
		}) {
			ack.shownRefunds = append(ack.shownRefunds, f)
		}
	}
	if len(s["refund_id"]) == 0 && len(list) == 0 {
		return
	}
	if len(list) == 0 {
		wrong("a refund_id and no refunds")
		return
	}
	last := list[len(list)-1]
	switch {
	case canonical(last["refund_id"]) != canonical(s["refund_id"]), canonical(last["msg"]) != canonical(s["refund_msg"]):
		wrong("another refund_id or refund_msg than the last refund's")
	case s.text("refunded_amount") != returned.String():
		wrong("a refunded_amount that is not the sum of its refunds")
	}
}

func (a *acknowledgements) shownRefund(n uint32, s object) (f shownRefund, err error) {
	f.line = n
	f.id, err = uuid.Parse(s.text("refund_id"))
	for status := payment.RefundIsPending; status <= payment.RefundFailed; status++ { // two statuses have the same name: the later one is kept
		if status.String() == s.text("status") {
			f.status = status
		}
	}
	f.always = a.hashOf(quoted(canonical(s["amount"]) + canonical(s["fee_amount"]) + canonical(s["created"])))
	if f.status != payment.RefundIsPending {
		f.ended = a.hashOf(quoted(canonical(s["error_code"]) + canonical(s["msg"]) + canonical(s["finished"])))
	}
	return f, err
}

// compareShownRefunds compares the refunds that answers showed with the record's.
func (c *Check) compareShownRefunds(p *payment.Record, ack *transactionAnswer) {
	for i := range ack.shownRefunds {
		was := &ack.shownRefunds[i]
		at := slices.IndexFunc(p.Refunds, func(f payment.RefundRecord) bool { return f.ID == was.id })
		switch {
		case at >= 0 && c.answers.showsRefund(&p.Refunds[at], was):
		case at < 0 && was.status != payment.RefundSucceeded && len(p.Refunds) >= payment.MaxRefunds-1: // the record dropped it to make room for a newer refund
		default:
			c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v was answered with another refund %v than it has", was.line, p.ID, was.id)
		}
	}
}

// showsRefund tells whether the stored refund could have been shown like this.
func (a *acknowledgements) showsRefund(f *payment.RefundRecord, was *shownRefund) bool {
	show := func(status payment.RefundStatus, lang string) shownRefund {
		one := object{
			"refund_id": quoted(f.ID.String()), "amount": quoted(f.Amount.String()), "fee_amount": quoted(f.FeeBack.String()),
			"status": quoted(status.String()), "error_code": codeOf(f.Failure), "msg": quoted(f.Describe(lang)),
			"created": instant(f.Created), "finished": instant(f.Finished),
		}
		it, _ := a.shownRefund(was.line, one)
		return it
	}
	if was.status == payment.RefundIsPending {
		return *was == show(payment.RefundIsPending, "")
	}
	return slices.ContainsFunc(languages[:], func(lang string) bool { return *was == show(f.Status, lang) })
}

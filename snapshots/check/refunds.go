package check

import (
	"math/big"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// checkRefundRecords compares the refunds that a transaction names with those that its
// events asked for: their order, what they return and how they ended. Failed ones may
// have made place for later ones.
func (c *checker) checkRefundRecords(r *record, p *payment.Record, booked []refundPart) {
	if p.SettledLate {
		c.checkGivenBack(r, p)
		return
	}
	kept := p.Refunds
	dropped := 0
	for _, f := range booked {
		if len(kept) > 0 && large(kept[0].Amount).Cmp(f.amount) == 0 && large(kept[0].FeeBack).Cmp(f.fee) == 0 && sameStatus(kept[0].Status, f.state) {
			kept = kept[1:]
			continue
		}
		if f.state != refundRefused {
			c.faulty(r, "has refunded %v, and does not name it", f.amount)
			return
		}
		dropped++
	}
	switch {
	case len(kept) > 0:
		c.faulty(r, "names refund %v, and its events know none such", kept[0].ID)
	case dropped > 0 && len(p.Refunds) < payment.MaxRefunds-1:
		c.faulty(r, "has dropped %d refunds, and had room for them", dropped)
	}
	c.checkRefundsStand(r, p)
}

// refundPart is a refund as its entry says it.
type refundPart struct {
	amount, fee *big.Int
	state       refundState
}

// sameStatus tells whether a refund stands as its events say.
func sameStatus(s payment.RefundStatus, events refundState) bool {
	switch events {
	case refundDone:
		return s == payment.RefundSucceeded
	case refundRefused:
		return s == payment.RefundFailed
	}
	return s.Pending()
}

// checkGivenBack checks the one refund of money that came too late.
func (c *checker) checkGivenBack(r *record, p *payment.Record) {
	if len(p.Refunds) > 1 || len(p.Refunds) == 1 && p.Refunds[0].Amount != p.Amount {
		c.faulty(r, "gives back another amount than came too late")
	}
	c.checkRefundsStand(r, p)
}

// checkRefundsStand checks what refunds say of themselves.
func (c *checker) checkRefundsStand(r *record, p *payment.Record) {
	for i := range p.Refunds {
		f := &p.Refunds[i]
		pending, failed := f.Status.Pending(), f.Status == payment.RefundFailed
		switch {
		case pending != (f.Finished == 0), failed == f.Failure.IsZero():
			c.faulty(r, "has a refund that is %v, and says otherwise", f.Status)
		case pending && (i < len(p.Refunds)-1 || p.Op == nil || p.Op.Kind != payment.OpRefund || p.Op.Request != f.ID):
			c.faulty(r, "has a refund that is pending, and does not ask for it")
		case !pending && f.Finished < f.Created:
			c.faulty(r, "has a refund that ended before it was asked for")
		}
	}
}

// shownRefund is a refund as an answer showed it: prints of what it always says, and of
// what it says once it has ended.
type shownRefund struct {
	id     ledger.ID
	line   uint32
	status payment.RefundStatus // 0: it has no status that a refund can have
	always uint32
	ended  uint32 // only of one that has
}

// readRefunds takes in the refunds that an answer shows of a transaction, and holds its
// other fields against them.
func (c *checker) readRefunds(n uint32, id ledger.ID, ack *acknowledged, s shown) {
	var list []shown
	if v := s["refunds"]; len(v) != 0 && json.Unmarshal(v, &list) != nil {
		c.report.breach(ruleAnswers, "line %d: transaction %v is answered with refunds that are no list", n, id)
		return
	}
	wrong := func(what string) {
		c.report.breach(ruleAnswers, "line %d: transaction %v is answered with %s", n, id, what)
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

func (a *answers) shownRefund(n uint32, s shown) (f shownRefund, err error) {
	f.line = n
	f.id, err = uuid.Parse(s.text("refund_id"))
	for status := payment.RefundIsPending; status <= payment.RefundFailed; status++ { // the last of a name is the one that stands for it
		if status.String() == s.text("status") {
			f.status = status
		}
	}
	f.always = a.print(quoted(canonical(s["amount"]) + canonical(s["fee_amount"]) + canonical(s["created"])))
	if f.status != payment.RefundIsPending {
		f.ended = a.print(quoted(canonical(s["error_code"]) + canonical(s["msg"]) + canonical(s["finished"])))
	}
	return f, err
}

// meetShownRefunds compares the refunds that answers showed with those of the record.
func (c *checker) meetShownRefunds(p *payment.Record, ack *acknowledged) {
	for i := range ack.shownRefunds {
		was := &ack.shownRefunds[i]
		at := slices.IndexFunc(p.Refunds, func(f payment.RefundRecord) bool { return f.ID == was.id })
		switch {
		case at >= 0 && c.answers.showsRefund(&p.Refunds[at], was):
		case at < 0 && was.status != payment.RefundSucceeded && len(p.Refunds) >= payment.MaxRefunds-1: // it made place
		default:
			c.report.breach(ruleAnswers, "line %d: transaction %v was answered with another refund %v than it has", was.line, p.ID, was.id)
		}
	}
}

// showsRefund tells whether the refund was one that could be shown so.
func (a *answers) showsRefund(f *payment.RefundRecord, was *shownRefund) bool {
	show := func(status payment.RefundStatus, lang string) shownRefund {
		one := shown{
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

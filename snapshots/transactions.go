package snapshots

import (
	"hash/maphash"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	acting "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
)

// inFlight is longer than any decision is on its way into the journal: what was
// decided before a setting changed may be booked after it.
const inFlight = ledger.Micros(time.Minute / time.Microsecond)

// checkTransaction compares a transaction's payload with its events.
func (c *checker) checkTransaction(r *record) {
	p, err := paymentcodec.Decode(r.payload)
	if err != nil {
		c.faulty(r, "can't be read: %v", err)
		return
	}
	h, histories := r.history, r.organization.histories
	c.checkState(r, string(p.Status))
	if p.ID != r.source.ID {
		c.faulty(r, "calls itself %v", p.ID)
	}
	if r.stamp.Finished != h.finished {
		c.faulty(r, "is %q and finished at another time than its events say", p.Status)
	}
	c.checkTerms(r, p)
	c.checkRoute(r, p)
	c.checkBooked(r, p)
	c.checkRefunds(r, p)
	c.checkStanding(r, p)
	c.checkVolumes(r, p)
	c.checkReturn(r, p)
	c.checkTold(r, p)
	if p.TxID != "" {
		h.claims, h.claim = ledger.ClaimTxID, histories.hash(byte(ledger.ClaimTxID), acting.TxIDKey(p.Partner, p.TxID))
	}
	c.meetRenewal(r, p)
	h.list = histories.listOf(p.Partner, p.Asset.Env)
	if p.Route == simulator && p.ReversalOf == (ledger.ID{}) {
		h.marks |= simulated
		h.terminal = histories.terminalOf(p.Terminal)
	}
	if p.KeepCard {
		h.marks |= keepsCard
	}
	c.meet(r, p)
}

// listOf stands for the list that shows a transaction.
func (h *histories) listOf(partner int64, env money.Env) uint32 {
	return uint32(h.hash(byte(env), strconv.FormatInt(partner, 10)))
}

func (h *histories) terminalOf(id ledger.ID) uint32 { return uint32(maphash.Bytes(h.seed, id[:])) }

// checkBooked compares the entries of a transaction's charge with what its record
// says; checkTerms has compared that with what it must say.
func (c *checker) checkBooked(r *record, p *payment.Record) {
	h, histories := r.history, r.organization.histories
	if p.ReversalOf != (ledger.ID{}) {
		c.checkReturned(r, p)
		return
	}
	settled := said(p)
	asked := settled // the hold is for all of the amount
	if p.Captured != p.Amount && !p.Captured.IsZero() {
		asked = priceOf(p, large(p.Amount))
	}
	switch {
	case h.hold != 0 && h.hold != histories.meant(charge(p, asked)):
		c.faulty(r, "has held other amounts than it says")
	case h.marks&booked != 0 && meaning(h.entry) != histories.meant(charge(p, settled)):
		c.faulty(r, "books other amounts than it says")
	case h.marks&late != 0 && meaning(h.entry) != histories.meant(tooLate(p, settled)):
		c.faulty(r, "has other amounts in suspense than it says")
	}
	if p.SettledLate != (h.marks&late != 0) {
		c.faulty(r, "says that money came too late: %v, and its events say otherwise", p.SettledLate)
	}
	if pays := p.Type == payment.Payment; pays && h.holds != 0 || !pays && h.holds != h.asked[callCharge] {
		c.faulty(r, "was sent to providers %d times, and money was held for %d of them", h.asked[callCharge], h.holds)
	}
}

// said is the price that a record says.
func said(p *payment.Record) price {
	return price{fee: large(p.Fee), withFee: large(p.WithFee), merchant: largeSigned(p.Merchant), dest: large(p.Dest)}
}

// checkReturned compares a return's entry with its record: a payment's entry the
// other way round. That it is the rest of its charge is seen by the events.
func (c *checker) checkReturned(r *record, p *payment.Record) {
	says := said(p)
	amount := new(big.Int).Sub(says.withFee, says.fee)
	if !p.Fees.OnTop {
		amount = says.withFee
	}
	if p.Type != payment.Payout || amount.Cmp(large(p.Amount)) != 0 {
		c.faulty(r, "is no return of its amount")
	}
	if !p.Rate.IsZero() && p.Merchant.Negative {
		return // what comes back at the destination is in no field
	}
	histories := r.organization.histories
	entry := meaning(r.history.entry)
	leg, both := histories.meant(mirror(income(p, says, false))), histories.meant(mirror(income(p, says, true)))
	if entry != leg && (p.Rate.IsZero() || entry != both) {
		c.faulty(r, "books other amounts than it says")
	}
}

// settledAmount is the part of the amount that a charge settled for.
func settledAmount(p *payment.Record) *big.Int {
	if p.Captured.IsZero() {
		return large(p.Amount)
	}
	return large(p.Captured)
}

// checkReturn notes which transactions a reversed one and its return name, for
// checkReturns, and checks that a reversed one names one.
func (c *checker) checkReturn(r *record, p *payment.Record) {
	histories := r.organization.histories
	none := ledger.ID{}
	switch {
	case p.ReversalOf != none:
		histories.returnOf[p.ID] = p.ReversalOf
	case p.ReturnID != none:
		histories.returns[p.ID] = p.ReturnID
	}
	if (p.Status == payment.Reversed) != (p.ReturnID != none) || (p.Status == payment.Reversed) != (r.history.marks&returned != 0) {
		c.faulty(r, "is %q, and its return says otherwise", p.Status)
	}
}

// checkReturns checks that reversed transactions and their returns name each other.
func (c *checker) checkReturns(o *organization) {
	h := o.histories
	for id, of := range h.returnOf {
		if h.returns[of] != id {
			c.report.breach(ruleStates, "organization %v: transaction %v says that it returns %v, which does not", o.id, id, of)
		}
	}
	for id, by := range h.returns {
		if h.returnOf[by] != id {
			c.report.breach(ruleStates, "organization %v: transaction %v says that %v returns it, which does not", o.id, id, by)
		}
	}
}

const (
	availableHead, availableTail = "L:partner:", ":available"
	owedHead, owedTail           = "A:partner:", ":receivable"
)

// partnersLine names both accounts between which a partner's line is split.
func partnersLine(path ledger.Path) string {
	s := string(path)
	if number, ok := between(s, owedHead, owedTail); ok {
		return number
	}
	if number, ok := between(s, availableHead, availableTail); ok {
		return number
	}
	return s
}

// availableTo is the partner whose available balance the account is.
func availableTo(path ledger.Path) (number int64, ok bool) {
	digits, ok := between(string(path), availableHead, availableTail)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, err == nil
}

func between(s, head, tail string) (string, bool) {
	if len(s) < len(head)+len(tail) || !strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail) {
		return "", false
	}
	return s[len(head) : len(s)-len(tail)], true
}

// checkStanding checks that the record has what its status needs, and nothing
// that it must not have any more.
func (c *checker) checkStanding(r *record, p *payment.Record) {
	h := r.history
	open := unsettled(p) || p.Op != nil || p.SettledLate && p.Type == payment.Payment && len(p.Refunds) == 0
	switch {
	case p.Status == payment.New, p.Status == payment.Created && !p.Hosted:
		c.faulty(r, "rests in %q, which it only passes through", p.Status)
	case !slices.Contains(asksFor(p), h.asks):
		c.faulty(r, "asks its provider for something else than its events do")
	case holdsMoney(p) != (h.held != 0):
		c.faulty(r, "is %q, and money is held for it: %v", p.Status, h.held != 0)
	case p.Status.Held() != (p.HoldUntil != 0):
		c.faulty(r, "is %q, and is held until %d", p.Status, p.HoldUntil)
	case p.Action == nil && p.Status == payment.ActionRequired, p.Action != nil && p.Status != payment.ActionRequired && !p.Status.Moving():
		c.faulty(r, "is %q, and its payer has something to do: %v", p.Status, p.Action != nil)
	case p.KeepCard && p.Status != payment.ActionRequired && !p.Status.Moving():
		c.faulty(r, "is %q, and its card is kept", p.Status)
	case open != (r.stamp.Due != 0):
		c.faulty(r, "is %q, and something will wake it: %v", p.Status, r.stamp.Due != 0)
	}
}

// unsettled tells whether a charge is still to be decided.
func unsettled(p *payment.Record) bool {
	return p.Status == payment.Created || p.Status == payment.Authorizing || p.Status == payment.ActionRequired || p.Status.Moving() || p.Status.Held()
}

// holdsMoney tells whether money has to be pending for a transaction.
func holdsMoney(p *payment.Record) bool {
	switch {
	case p.Op != nil && p.Op.Kind == payment.OpRefund && !p.Op.Late, p.Status == payment.PaymentHeld:
		return true
	}
	return p.Type == payment.Payout && unsettled(p) && p.Status != payment.Created
}

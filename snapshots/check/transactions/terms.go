package transactions

import (
	"math/big"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks the terms of transactions. The amounts in a record
// must follow from the record's terms (fees and exchange rate). The terms must agree with the settings of the
// transaction's terminal and with the stored rate. Each refund must return its part of the fee. The converted amounts
// of all refunds must add up.

// checkTerms recomputes a transaction's amounts from the terms in its record. It also compares the terms with the
// settings of the transaction's terminal.
func (c *Check) checkTerms(r *scan.Record, p *payment.Record) {
	if p.ReversalOf != (ledger.ID{}) {
		return // a return has the terms of the charge that it reverses
	}
	if wasHeld := wasIn(r, payment.PaymentHeld) || wasIn(r, payment.PayoutHeld); (wasHeld && r.History.Marks&scan.ChargeBooked != 0) == p.CapturedAmount.IsZero() {
		c.Fault(r, "says that %v was captured of what was held", p.CapturedAmount)
	}
	costs := priceOf(p, settledAmount(p))
	switch {
	case scan.BigAmount(p.Fee).Cmp(costs.Fee) != 0:
		c.Fault(r, "has a fee of %v, and its terms make one of %v", p.Fee, costs.Fee)
	case scan.BigAmount(p.AmountWithFee).Cmp(costs.AmountWithFee) != 0, scan.BigSigned(p.MerchantAmount).Cmp(costs.Merchant) != 0, scan.BigAmount(p.DestAmount).Cmp(costs.Dest) != 0:
		c.Fault(r, "splits its amount another way than its terms")
	}
	c.checkSettings(r, p)
}

// wasIn tells whether the record was ever in this status.
func wasIn(r *scan.Record, status payment.Status) bool {
	return r.Organization.Histories.StatesOf(ledger.Transaction).WasIn(r.History, string(status))
}

// checkSettings compares a transaction's terms with the settings of its terminal and with the rate, unless the settings
// or the rate may have changed since the transaction was decided.
func (c *Check) checkSettings(r *scan.Record, p *payment.Record) {
	t := c.settingsFor(r, p.Terminal)
	if t == nil || p.AttemptOf != (ledger.ID{}) { // the late money of an attempt is returned in full, without a fee
		return
	}
	settlementCurrency := t.SettlementCurrency
	if settlementCurrency == p.Asset.Currency {
		settlementCurrency = ""
	}
	switch {
	case p.Fees != feesOf(t):
		c.Fault(r, "has other fees than its terminal")
	case p.TwoPhase != t.TwoPhase:
		c.Fault(r, "is a two-phase payment: %v, but its terminal makes such payments: %v", p.TwoPhase, t.TwoPhase)
	case p.SettlementAsset.Currency != settlementCurrency || p.Rate.IsZero() != (settlementCurrency == ""):
		c.Fault(r, "settles in %v, and its terminal in %v", p.SettlementAsset.Currency, settlementCurrency)
	case settlementCurrency != "":
		rate := c.directory.Rates[scan.RecordKey{Org: r.Organization.ID, ID: directory.RateID(r.Organization.ID, p.Asset.Currency, settlementCurrency)}]
		if rate == nil {
			c.Fault(r, "is converted, and there is no rate")
		} else if !rate.ChangedSince(r) && rate.Value != p.Rate.String() {
			c.Fault(r, "is converted at %v, and the rate is %s", p.Rate, rate.Value)
		}
	}
}

func feesOf(t *directory.Settings) payment.Fees {
	return payment.Fees{Bps: t.FeeBps, Fixed: t.FeeFixed, OnTop: t.FeeOnTop, Refundable: t.FeeRefundable}
}

// settingsFor returns a terminal's settings if the transaction was certainly decided with these settings. It returns nil if the
// terminal does not exist, or if the settings may have changed after the decision.
func (c *Check) settingsFor(r *scan.Record, id ledger.ID) *directory.Settings {
	t := c.directory.Terminal(r.Organization.ID, id)
	if t == nil || t.ChangedSince(r) {
		return nil
	}
	return &t.Settings
}

// checkRoute checks that a transaction was sent to as many terminals as its record names. It also checks the amounts
// that were held at the terminals that refused the transaction.
func (c *Check) checkRoute(r *scan.Record, p *payment.Record) {
	h := r.History
	for i := range p.Attempts {
		c.checkTotal(r, p, &p.Attempts[i])
	}
	refused := refusedAttempts(p)
	terminals := len(refused)
	if p.Terminal != (ledger.ID{}) && p.AttemptOf == (ledger.ID{}) && p.ReversalOf == (ledger.ID{}) {
		terminals++
	}
	if min(terminals, scan.MaxCounted) != int(h.Intents[scan.CallCharge]) {
		c.Fault(r, "names %d terminals, and was sent to %d", terminals, h.Intents[scan.CallCharge])
		return
	}
	if len(refused) == 0 {
		return
	}
	seen := map[ledger.ID]bool{p.Terminal: true}
	heldFingerprints := r.Organization.Histories.Rerouted[r.Source]
	for i := range refused {
		a := &refused[i]
		if seen[a.Terminal] {
			c.Fault(r, "was sent to terminal %v again", a.Terminal)
		}
		seen[a.Terminal] = true
		if t := c.settingsFor(r, a.Terminal); t != nil && i < len(heldFingerprints) && t.SettlementCurrency == "" {
			past := recordAtTerminal(p, a.Terminal, t)
			if heldFingerprints[i] != r.Organization.Histories.ExpectedFingerprint(chargeEntry(past, priceOf(past, scan.BigAmount(p.Amount)))) {
				c.Fault(r, "has held other amounts at terminal %v than its terms require", a.Terminal)
			}
		}
	}
}

// refusedAttempts returns those attempts of the transaction that wasTriedAndLeft selects.
func refusedAttempts(p *payment.Record) []payment.Attempt { return refusedOf(p.Attempts) }

// refusedOf returns those elements of tried that wasTriedAndLeft selects.
func refusedOf(tried []payment.Attempt) []payment.Attempt {
	var refused []payment.Attempt
	for i := range tried {
		if wasTriedAndLeft(tried[i]) {
			refused = append(refused, tried[i])
		}
	}
	return refused
}

// wasTriedAndLeft tells whether the transaction was routed to the attempt's terminal and then away from it, because the
// provider refused the charge or the call was never sent.
func wasTriedAndLeft(a payment.Attempt) bool {
	return a.Outcome == payment.AttemptRefused || a.Outcome == payment.AttemptNotSent
}

// recordAtTerminal returns a transaction's record with the terms of a terminal that refused the transaction. t contains
// the settings of this terminal.
func recordAtTerminal(p *payment.Record, terminal ledger.ID, t *directory.Settings) *payment.Record {
	past := *p
	past.Terminal, past.Fees, past.Rate, past.SettlementAsset = terminal, feesOf(t), money.Rate{}, money.Asset{}
	return &past
}

// checkRefunds compares every refund with the record: the refunded amount, the refunded part of the fee, and the amount
// in the destination's asset. Rounding applies to the sum of all refunds so far, not to each refund: the sum of the
// refunded fees and the sum of the converted amounts are rounded down.
func (c *Check) checkRefunds(r *scan.Record, p *payment.Record) {
	h, histories := r.History, r.Organization.Histories
	settled := settledAmount(p)
	costs := priceOf(p, settled)
	var total refundSum
	total.init()
	var bookedRefunds []bookedRefund
	isSound := true
	report := func(format string, args ...any) {
		isSound = false
		c.Fault(r, format, args...)
	}
	for _, refund := range histories.RefundsOf(h) {
		next := total.add(p, &costs, settled, refund)
		bookedRefunds = append(bookedRefunds, bookedRefund{next.part.amount, next.part.fee, refund.State})
		switch {
		case next.fault != "":
			report("%s", next.fault)
		case refund.Fingerprint != histories.ExpectedFingerprint(refundEntry(p, usesExchange(p, costs.Merchant), next.part.amount, next.part.fee, next.part.dest)):
			report("returns its money in another way than it came")
		}
		switch refund.State {
		case scan.RefundDone:
			total = next.refundSum
		case scan.RefundOpen:
			if o := p.Op; o == nil || scan.BigAmount(o.Amount).Cmp(next.part.amount) != 0 || scan.BigAmount(o.RefundedFee).Cmp(next.part.fee) != 0 {
				report("holds %v for a refund that it does not name", next.part.amount)
			}
		}
	}
	isRefunded := p.Status == payment.Refunded || p.Status == payment.Refunding || p.Status == payment.Reversed
	switch {
	case total.amount.Cmp(scan.BigAmount(p.RefundedAmount)) != 0 || total.fee.Cmp(scan.BigAmount(p.RefundedFee)) != 0:
		report("has refunded %v and %v of its fee, and its entries say %v and %v", p.RefundedAmount, p.RefundedFee, total.amount, total.fee)
	case p.Status == payment.Refunded && p.RefundedAmount.IsZero(), !isRefunded && !p.RefundedAmount.IsZero():
		report("is %q, and has refunded %v", p.Status, p.RefundedAmount)
	case (len(p.Refunds) == 0) != (h.Intents[scan.CallRefund] == 0):
		report("lists %d refunds, but its events requested %d", len(p.Refunds), h.Intents[scan.CallRefund])
	}
	if isSound {
		c.checkRefundRecords(r, p, bookedRefunds)
	}
}

// refundSum says how much of a charge's amount, fee and converted amount one or more refunds return.
type refundSum struct{ amount, fee, dest *big.Int }

func (s *refundSum) init() { s.amount, s.fee, s.dest = new(big.Int), new(big.Int), new(big.Int) }

// nextRefund is the result of adding one refund to a refundSum: the new sum, and the amounts of the refund itself.
type nextRefund struct {
	refundSum
	part  refundSum
	fault string // what is wrong with the refund; empty if nothing is wrong
}

// add returns the sum after one more refund. The amounts of the refund are taken from its entry.
func (s *refundSum) add(p *payment.Record, costs *price, settled *big.Int, refund *scan.Refund) (next nextRefund) {
	next.part = refundSum{scan.BigAmount(refund.Provider), scan.BigAmount(refund.Fees), scan.BigAmount(refund.Dest)}
	if p.Fees.OnTop {
		next.part.amount.Sub(next.part.amount, next.part.fee)
	}
	next.amount = new(big.Int).Add(s.amount, next.part.amount)
	next.fee = new(big.Int).Add(s.fee, next.part.fee)
	next.dest = new(big.Int).Add(s.dest, next.part.dest)
	partnerPart := new(big.Int).Sub(next.amount, next.fee)
	if p.Fees.OnTop {
		partnerPart = next.amount
	}
	switch {
	case next.fee.Cmp(refundedFee(p, costs.Fee, next.amount, settled)) != 0:
		next.fault = "returns another part of its fee than its refunds make"
	case usesExchange(p, costs.Merchant) && next.dest.Cmp(convert(p, partnerPart)) != 0:
		next.fault = "converts another part back than its refunds make"
	}
	return next
}

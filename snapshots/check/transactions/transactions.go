package transactions

import (
	"math/big"
	"slices"

	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/snapshots/check/directory"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks transactions. A transaction's record must be in the
// state to which its events led, and its entries must book the record's amounts. The status determines which other
// parts the record has. A closed transaction has no pending money and no encrypted card, and waits for no provider. An
// open transaction has a timer. A return is a transaction that reverses a charge. Its entry books that part of the
// charge that is left, with debits and credits swapped. The charge and the return name each other.

// Check compares the stored records of an organization's transactions and subscriptions with their events.
type Check struct {
	*scan.Scan
	organization   *scan.Organization
	directory      *directory.Facts       // the settings and limits by which transactions were decided
	volumes        map[string]*sums       // limit/window/subject → the two sums, computed from the transactions
	paidLinks      map[paidLink]ledger.ID // a payment link → one of the transactions that name the link
	linkCounters   map[string]*big.Int    // key of a link's counter → the value that it must have
	storedCounters map[string]bool        // names of those counters of volumes that are stored
	attempts       attempts
}

// New returns a Check for one organization's transactions.
func New(s *scan.Scan, o *scan.Organization, d *directory.Facts) *Check {
	return &Check{Scan: s, organization: o, directory: d, volumes: make(map[string]*sums), linkCounters: make(map[string]*big.Int), paidLinks: make(map[paidLink]ledger.ID), storedCounters: make(map[string]bool), attempts: newAttempts()}
}

// CheckTransaction compares a transaction's payload with the transaction's events. It returns the decoded payload, or nil if
// the payload can't be read.
func (c *Check) CheckTransaction(r *scan.Record) *payment.Record {
	p, err := paymentcodec.Decode(r.Payload)
	if err != nil {
		c.Fault(r, "can't be read: %v", err)
		return nil
	}
	h, histories := r.History, r.Organization.Histories
	c.CheckState(r, string(p.Status))
	if p.ID != r.Source.ID {
		c.Fault(r, "has the id %v in its payload", p.ID)
	}
	if r.Header.FinishedAt != h.FinishedAt {
		c.Fault(r, "is %q and finished at another time than its events say", p.Status)
	}
	c.checkTerms(r, p)
	c.checkRoute(r, p)
	c.checkAttempts(r, p)
	c.checkEntries(r, p)
	c.checkRefunds(r, p)
	c.checkStatus(r, p)
	c.checkVolumes(r, p)
	c.checkReturn(r, p)
	c.checkMethod(r, p)
	if p.TxID != "" {
		h.ClaimKind, h.ClaimHash = ledger.ClaimTxID, histories.Hash(byte(ledger.ClaimTxID), paymentactor.TxIDKey(p.Partner, p.TxID))
	}
	c.noteRenewal(r, p)
	firstList, furtherLists := payment.Lists.Of(p)
	histories.ExpectLists(h, firstList, furtherLists...)
	if p.Route == scan.SimulatorRoute && p.ReversalOf == (ledger.ID{}) {
		h.Marks |= scan.AtSimulator
		h.TerminalHash = histories.HashTerminal(p.Terminal)
	}
	if p.KeepCard {
		h.Marks |= scan.RequiresCard
	}
	return p
}

// checkEntries compares the entries of a transaction's charge with the amounts in the record.
func (c *Check) checkEntries(r *scan.Record, p *payment.Record) {
	h, histories := r.History, r.Organization.Histories
	if p.ReversalOf != (ledger.ID{}) {
		c.checkReturnEntry(r, p)
		return
	}
	settledPrice := priceOnRecord(p)
	heldPrice := settledPrice // a hold is for the whole amount, even if only a part was captured later
	if p.CapturedAmount != p.Amount && !p.CapturedAmount.IsZero() {
		heldPrice = priceOf(p, scan.BigAmount(p.Amount))
	}
	switch {
	case h.HoldFingerprint != 0 && h.HoldFingerprint != histories.ExpectedFingerprint(chargeEntry(p, heldPrice)):
		c.Fault(r, "has held other amounts than it says")
	case h.Marks&scan.ChargeBooked != 0 && scan.Fingerprint(h.EntryHash) != histories.ExpectedFingerprint(chargeEntry(p, settledPrice)):
		c.Fault(r, "books other amounts than it says")
	case h.Marks&scan.BookedLate != 0 && scan.Fingerprint(h.EntryHash) != histories.ExpectedFingerprint(lateEntry(p, settledPrice)):
		c.Fault(r, "has other amounts in suspense than it says")
	}
	if p.LateSettlement != (h.Marks&scan.BookedLate != 0) {
		c.Fault(r, "says that money came too late: %v, and its events say otherwise", p.LateSettlement)
	}
	if p.LateChargeback != (h.Marks&scan.LateMoneyTaken != 0) {
		c.Fault(r, "says that late money was taken back: %v, and its events say otherwise", p.LateChargeback)
	}
	if isPayment := p.Type == payment.Payment; isPayment && h.Holds != 0 || !isPayment && h.Holds != h.Intents[scan.CallCharge] {
		c.Fault(r, "was sent to providers %d times, and money was held for %d of them", h.Intents[scan.CallCharge], h.Holds)
	}
}

// priceOnRecord returns the price that a record says.
func priceOnRecord(p *payment.Record) price {
	return price{Fee: scan.BigAmount(p.Fee), AmountWithFee: scan.BigAmount(p.AmountWithFee), Merchant: scan.BigSigned(p.MerchantAmount), Dest: scan.BigAmount(p.DestAmount)}
}

// checkReturnEntry compares the entry of a return with the return's record. The entry must be the entry of a payment,
// with debits and credits swapped. Another function, followReturn, checks that the entry covers what is left of the
// charge.
func (c *Check) checkReturnEntry(r *scan.Record, p *payment.Record) {
	recordedPrice := priceOnRecord(p)
	amount := new(big.Int).Sub(recordedPrice.AmountWithFee, recordedPrice.Fee)
	if !p.Fees.OnTop {
		amount = recordedPrice.AmountWithFee
	}
	if p.Type != payment.Payout || amount.Cmp(scan.BigAmount(p.Amount)) != 0 {
		c.Fault(r, "is a return, but its amounts do not add up or it is not a payout")
	}
	if !p.Rate.IsZero() && p.MerchantAmount.Negative {
		return // the record does not say which amount was returned in the destination's asset
	}
	histories := r.Organization.Histories
	entry := scan.Fingerprint(r.History.EntryHash)
	withoutConversion, withConversion := histories.ExpectedFingerprint(scan.Mirror(paymentEntry(p, recordedPrice, false))), histories.ExpectedFingerprint(scan.Mirror(paymentEntry(p, recordedPrice, true)))
	if entry != withoutConversion && (p.Rate.IsZero() || entry != withConversion) {
		c.Fault(r, "books other amounts than it says")
	}
}

// settledAmount returns the amount that a charge settles: the captured part if a part was captured, and otherwise the
// whole amount.
func settledAmount(p *payment.Record) *big.Int {
	if p.CapturedAmount.IsZero() {
		return scan.BigAmount(p.Amount)
	}
	return scan.BigAmount(p.CapturedAmount)
}

// checkReturn checks that a transaction names a return if and only if it is reversed. It also records which return a
// transaction names, and which transaction a return names, for CheckReturns.
func (c *Check) checkReturn(r *scan.Record, p *payment.Record) {
	histories := r.Organization.Histories
	noID := ledger.ID{}
	switch {
	case p.ReversalOf != noID:
		histories.ReturnOf[p.ID] = p.ReversalOf
	case p.ReturnID != noID:
		histories.Returns[p.ID] = p.ReturnID
	}
	if (p.Status == payment.Reversed) != (p.ReturnID != noID) || (p.Status == payment.Reversed) != (r.History.Marks&scan.ChargeReturned != 0) {
		c.Fault(r, "is %q, and its return says otherwise", p.Status)
	}
}

// CheckReturns checks that each reversed transaction and its return name each other.
func (c *Check) CheckReturns() {
	o := c.organization
	h := o.Histories
	for id, original := range h.ReturnOf {
		if h.Returns[original] != id {
			c.Report.Breach(findings.RuleStates, "organization %v: transaction %v names %v as its original, but %v does not name it", o.ID, id, original, original)
		}
	}
	for id, returnID := range h.Returns {
		if h.ReturnOf[returnID] != id {
			c.Report.Breach(findings.RuleStates, "organization %v: transaction %v names %v as its return, but %v does not name it", o.ID, id, returnID, returnID)
		}
	}
}

// checkStatus checks that the record has the parts that its status requires, and none that its status forbids.
func (c *Check) checkStatus(r *scan.Record, p *payment.Record) {
	h := r.History
	needsTimer := isUnsettled(p) || p.Op != nil || p.LateSettlement && !p.LateChargeback && p.Type == payment.Payment && len(p.Refunds) == 0
	switch {
	case p.Status == payment.New, p.Status == payment.Created && !p.Hosted:
		c.Fault(r, "is stored with the status %q, which is never stored", p.Status)
	case !slices.Contains(openRequests(p), h.OpenRequest):
		c.Fault(r, "has another open request to its provider than its events")
	case holdsMoney(p) != (h.HeldSeq != 0):
		c.Fault(r, "is %q, and money is held for it: %v", p.Status, h.HeldSeq != 0)
	case p.Status.IsHeld() != (p.HoldUntil != 0):
		c.Fault(r, "is %q, and is held until %d", p.Status, p.HoldUntil)
	case p.Action == nil && p.Status == payment.ActionRequired, p.Action != nil && p.Status != payment.ActionRequired && !p.Status.AtProvider():
		c.Fault(r, "is %q, and its payer has something to do: %v", p.Status, p.Action != nil)
	case p.KeepCard && p.Status != payment.ActionRequired && !p.Status.AtProvider():
		c.Fault(r, "is %q, and its card is kept", p.Status)
	case needsTimer != (r.Header.Due != 0):
		c.Fault(r, "is %q, and it has a timer: %v", p.Status, r.Header.Due != 0)
	}
}

// isUnsettled tells whether a charge has not been settled or refused yet.
func isUnsettled(p *payment.Record) bool {
	return p.Status == payment.Created || p.Status == payment.Authorizing || p.Status == payment.ActionRequired || p.Status.AtProvider() || p.Status.IsHeld()
}

// holdsMoney tells whether the transaction must have a pending entry.
func holdsMoney(p *payment.Record) bool {
	switch {
	case p.Op != nil && p.Op.Kind == payment.OpRefund && !p.Op.FromSuspense, p.Status == payment.PaymentHeld:
		return true
	}
	return p.Type == payment.Payout && isUnsettled(p) && p.Status != payment.Created
}

package transactions

import (
	"slices"

	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	ledgerdirectory "mizan/ledger/directory"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks attempts of hosted payments. A payer has at most as many
// attempts as the terminal of the first attempt allows. Each attempt was sent to exactly the terminals that the record names.
// Each attempt has a reference of its own, by which providers know its charge. Unless the reference is the transaction's id,
// there is a claim on it (a stored row that makes it unique). If a terminal refused a charge and money moved for it later, the
// money has a transaction of its own, which agrees with the charge. The record names as many ended attempts as the
// transaction's events have ended.

// attempts collects what an organization's transactions say about attempts of hosted payments.
type attempts struct {
	claims map[string]ledger.ID            // key of a claim that must exist on a reference → the transaction with this reference
	ended  map[ledger.ID]scan.IntentCounts // reference of an ended attempt's charge → numbers of intents among the attempt's events
	late   []lateAttempt
}

func newAttempts() attempts {
	return attempts{claims: make(map[string]ledger.ID), ended: make(map[ledger.ID]scan.IntentCounts)}
}

// lateAttempt is a transaction for money that moved although a terminal had refused the charge.
type lateAttempt struct {
	record *scan.Record
	stored *payment.Record
}

// checkAttempts checks the attempts of a transaction, and collects the data for CheckLateAttempts and CheckReference.
func (c *Check) checkAttempts(r *scan.Record, p *payment.Record) {
	a, histories := &c.attempts, r.Organization.Histories
	if p.AttemptOf != (ledger.ID{}) {
		if !p.LateSettlement || p.Hosted || p.Type != payment.Payment {
			c.Fault(r, "is the late money of an attempt, and is another transaction")
		}
		a.late = append(a.late, lateAttempt{r, p})
		return
	}
	intents := histories.Ended[r.Source]
	if len(intents) != len(p.EndedAttempts) {
		c.Fault(r, "names %d ended attempts, and its events have ended %d", len(p.EndedAttempts), len(intents))
		return
	}
	used := len(p.EndedAttempts)
	if p.Terminal != (ledger.ID{}) {
		used++
	}
	isHosted := p.Hosted && p.Type == payment.Payment
	switch {
	case !isHosted && (p.HostedAttempts != 0 || len(p.EndedAttempts) != 0 || p.Reference != ledger.ID{}):
		c.Fault(r, "is no hosted payment, and has attempts of its payer")
	case isHosted && used > int(p.HostedAttempts), p.HostedAttempts > ledgerdirectory.MaxHostedAttempts:
		c.Fault(r, "has had %d attempts of %d", used, p.HostedAttempts)
	case p.Status == payment.Created && (used == int(p.HostedAttempts) && used > 0 || !isDueAtPayersDeadline(r, p)):
		c.Fault(r, "waits for its payer without an attempt that is left, or for another time than the payer has")
	case (p.Reference != ledger.ID{}) != (len(p.EndedAttempts) > 0 && p.Terminal != ledger.ID{}):
		c.Fault(r, "has a reference of its own %v, and %d ended attempts", p.Reference != ledger.ID{}, len(p.EndedAttempts))
	}
	seen := map[ledger.ID]bool{}
	for i := range p.EndedAttempts {
		c.checkEnded(r, p, &p.EndedAttempts[i], intents[i])
		c.noteReference(r, p, p.EndedAttempts[i].Reference, seen)
	}
	if used > len(p.EndedAttempts) && used > 1 {
		c.noteReference(r, p, p.Reference, seen)
		histories.ByCharge[p.Reference] = r.History
	}
	c.checkAttemptCount(r, p)
}

// isDueAtPayersDeadline tells whether the timer of a hosted payment that waits for its payer has the right time. The right time
// is the end of the payer's time to pay. If the record was written after this end, the timer may be as late as the last write.
func isDueAtPayersDeadline(r *scan.Record, p *payment.Record) bool {
	return r.Header.Due == p.HostedUntil || r.Header.Due > p.HostedUntil && r.Header.Due <= r.Header.UpdatedAt
}

// noteReference checks that the charges of a transaction have different references, and that the reference of the first charge
// is the transaction's id. For every other reference there must be a claim (a row that makes a key unique), which noteReference
// records.
func (c *Check) noteReference(r *scan.Record, p *payment.Record, reference ledger.ID, seen map[ledger.ID]bool) {
	isFirst := len(seen) == 0
	if seen[reference] || isFirst != (reference == p.ID) {
		c.Fault(r, "has an attempt with the reference %v of another one", reference)
	}
	if seen[reference] = true; !isFirst {
		c.attempts.claims[paymentactor.ReferenceKey(reference)] = p.ID
	}
}

// checkEnded checks an attempt that has ended. intents holds the numbers of intents (events that are stored before provider
// calls) among the attempt's events.
func (c *Check) checkEnded(r *scan.Record, p *payment.Record, ended *payment.EndedAttempt, intents scan.IntentCounts) {
	refused, last := refusedOf(ended.Terminals), ended.Last()
	if min(len(refused), scan.MaxCounted) != int(intents[scan.CallCharge]) || intents[scan.CallCharge] == 0 {
		c.Fault(r, "names %d terminals of an attempt that was sent to %d", len(refused), intents[scan.CallCharge])
		return
	}
	seen := make(map[ledger.ID]bool)
	for i := range refused {
		if seen[refused[i].Terminal] {
			c.Fault(r, "was sent to terminal %v again in one attempt", refused[i].Terminal)
		}
		seen[refused[i].Terminal] = true
	}
	if refused[len(refused)-1] != last || !last.Failure.Code.IsPublished() || ended.Credentials.Method == "" || ended.Credentials.AttemptedAt == 0 {
		c.Fault(r, "has an ended attempt that does not say how it began or why it ended")
	}
	for i := range ended.Terminals {
		c.checkTotal(r, p, &ended.Terminals[i])
	}
	c.attempts.ended[ended.Reference] = intents
}

// checkTotal checks the total amount that a terminal was to charge. If the transaction was not sent to the terminal,
// the total must be zero.
func (c *Check) checkTotal(r *scan.Record, p *payment.Record, tried *payment.Attempt) {
	if !wasTriedAndLeft(*tried) {
		if !tried.Total.IsZero() {
			c.Fault(r, "has a total at terminal %v, to which it was not sent", tried.Terminal)
		}
		return
	}
	if t := c.settingsFor(r, tried.Terminal); t != nil {
		past := recordAtTerminal(p, tried.Terminal, t)
		if scan.BigAmount(tried.Total).Cmp(priceOf(past, scan.BigAmount(p.Amount)).AmountWithFee) != 0 {
			c.Fault(r, "has had another total at terminal %v than the terminal's", tried.Terminal)
		}
	}
}

// checkAttemptCount compares the number of attempts that the payer may make with the setting of the terminal to which
// the first attempt was sent. If the setting may have changed since then, nothing is compared.
func (c *Check) checkAttemptCount(r *scan.Record, p *payment.Record) {
	first, tried := p.Terminal, p.Attempts
	if len(p.EndedAttempts) > 0 {
		tried = p.EndedAttempts[0].Terminals
	}
	if refused := refusedOf(tried); len(refused) > 0 {
		first = refused[0].Terminal
	}
	if t := c.directory.Terminal(r.Organization.ID, first); t != nil && !t.ChangedSince(r) && p.Hosted && p.Type == payment.Payment && int(p.HostedAttempts) != t.HostedAttempts {
		c.Fault(r, "has %d attempts, and its terminal gives %d", p.HostedAttempts, t.HostedAttempts)
	}
}

// CheckLateAttempts checks the transactions for money of refused charges. If a terminal refused a charge and money
// moved for it later, the money has a transaction of its own, which must agree with the refused charge. For rule 7
// (provider calls), CheckLateAttempts also adds histories of charges to Histories: ByCharge gets the charges of ended
// attempts, by reference, and ByLateCharge gets the transactions for late money, by terminal and reference.
// CheckLateAttempts is called after all records of the organization have been read. If the store can't be read, it
// returns the store's error.
func (c *Check) CheckLateAttempts() error {
	histories := c.organization.Histories
	for reference, intents := range c.attempts.ended {
		h := &scan.History{ProviderMoney: -1, Refunds: -1, ContractIndex: -1}
		histories.EnterState(h, ledger.Transaction, string(payment.Rejected))
		h.Intents = intents
		histories.ByCharge[reference] = h
	}
	for _, late := range c.attempts.late {
		p := late.stored
		isRefused, err := c.isRefusedCharge(p)
		if err != nil {
			return err
		}
		if !isRefused || p.ID != paymentactor.LateTransactionID(c.organization.ID, p.Terminal, p.Reference) {
			c.Fault(late.record, "is the late money of an attempt that its transaction does not have")
			continue
		}
		h, of := late.record.History, histories.FindCharge(p.Terminal, p.Reference)
		if of == nil {
			continue // the transaction has no events, which another check reports
		}
		h.Intents[scan.CallCharge], h.Intents[scan.CallComplete] = 1, of.Intents[scan.CallComplete]
		histories.ByLateCharge[scan.Charge{Terminal: p.Terminal, Reference: p.Reference}] = h
	}
	return nil
}

// isRefusedCharge tells whether the transaction late is for money of a refused charge: the transaction late.AttemptOf
// must have a charge with the reference, the terminal and the amount of late, and the terminal must have refused it.
func (c *Check) isRefusedCharge(late *payment.Record) (bool, error) {
	stored, found, err := c.View.Record(c.organization.ID, ledger.Source{Kind: ledger.Transaction, ID: late.AttemptOf})
	if err != nil || !found {
		return false, err
	}
	of, err := paymentcodec.Decode(stored.Payload)
	if err != nil {
		return false, nil // the record can't be decoded, which the check of that transaction reports
	}
	tried := []payment.Attempt(nil)
	if of.Terminal != (ledger.ID{}) && of.ChargeReference() == late.Reference {
		tried = of.Attempts
	}
	for i := range of.EndedAttempts {
		if of.EndedAttempts[i].Reference == late.Reference {
			tried = of.EndedAttempts[i].Terminals
		}
	}
	return of.Type == payment.Payment && of.Partner == late.Partner && of.Asset == late.Asset && slices.ContainsFunc(tried, func(a payment.Attempt) bool {
		return a.Terminal == late.Terminal && wasTriedAndLeft(a) && a.Total == late.Amount
	}), nil
}

// CheckReference checks a claim on the reference of an attempt. The transaction that the claim names must have an
// attempt with this reference.
func (c *Check) CheckReference(key string, transaction ledger.ID) {
	if c.attempts.claims[key] == transaction {
		delete(c.attempts.claims, key)
		return
	}
	c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) names transaction %v, which has no attempt with this reference", c.organization.ID, ledger.ClaimReference, transaction)
}

// CheckMissingReferences reports every attempt whose reference has no claim. It is called after all claims have been
// read.
func (c *Check) CheckMissingReferences() {
	for reference, id := range c.attempts.claims {
		c.Report.Breach(findings.RuleClaims, "organization %v: transaction %v has an attempt with reference %s and no claim on it", c.organization.ID, id, reference)
	}
}

package simulator

import (
	"fmt"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// answer is the payer's decision on the challenge page. It is empty until the payer has decided.
type answer string

const (
	answerApproved answer = "approved"
	answerRejected answer = "refused"
)

// The values of merchant_meta that the rail (the simulated payment network) sends for a crypto deposit. Merchants see them.
const (
	metaAwaiting  = `{"status":"awaiting_deposit"}`
	metaConfirmed = `{"status":"confirmed"}`
)

// charge is the state of a charge as one of its log lines records it. If the charge is in progress,
// it finishes later without a further line; asOf computes the state at an instant.
type charge struct {
	operation actors.Operation // Pay or PayOut; 0 if there is no charge
	verdict   payment.Verdict  // VerdictNotFound if there is no charge
	reason    string
	next      nextStep
	changedAt time.Time // time of the rail's next step if it is scheduled, otherwise of the charge's last change

	amount         money.Amount // the authorised or charged amount
	capturedAmount money.Amount // the captured part of the amount; the whole amount if the charge was never a hold
	refundedAmount money.Amount // the refunded part of capturedAmount; it includes refunds in progress

	refundMode  refundMode
	payerAction payerAction // stays set after the payer has acted
	answer      answer
	asset       string // the text of a money.Asset; set if the charge has a challenge page or a payload to be signed
	returnURL   string // where the challenge page sends the payer

	sequence uint64    // number of payloads to be signed that were published so far
	expires  time.Time // the newest payload may be signed until this time
}

// noCharge is the state that is returned for a reference to which no charge belongs.
var noCharge = charge{verdict: payment.VerdictNotFound}

// open fills an empty charge from the call that opens it.
func (c *charge) open(call *actors.Call, d *decision, now time.Time) {
	c.operation, c.amount, c.payerAction = call.Operation, call.Amount, d.payerAction
	switch {
	case d.payerAction.isOnPage():
		c.asset, c.returnURL = call.Asset.String(), d.returnURL
	case d.payerAction == actionSignature:
		c.asset = call.Asset.String()
		c.reserveSequence(now)
	}
	c.apply(d, now)
}

// reserveSequence reserves the next sequence number for a payload to be signed.
func (c *charge) reserveSequence(now time.Time) {
	c.sequence++
	c.expires = now.Add(signingTime)
}

// payload returns the text to be signed. The text contains the reference and the sequence number, so no two payloads are equal.
func (c *charge) payload(reference ledger.ID) string {
	return fmt.Sprintf("simulator:native_gas:%s:%s:%s:%d", c.asset, c.amount, reference, c.sequence)
}

// apply sets the state of the charge that follows from a decision.
func (c *charge) apply(d *decision, now time.Time) {
	c.verdict, c.reason, c.next, c.refundMode = d.verdict, d.reason, d.next, d.refundMode
	c.changedAt = now.Add(d.nextIn)
	c.capturedAmount = money.Amount{}
	if c.verdict == payment.VerdictCharged {
		c.capturedAmount = c.amount
	}
}

// isInProgress tells whether the rail finishes the charge at the time c.changedAt, without a further call.
func (c *charge) isInProgress() bool {
	return c.verdict == payment.VerdictPending || c.verdict == payment.VerdictUnknown
}

// awaitsPayer tells whether the payer has to act and has not acted yet.
func (c *charge) awaitsPayer() bool { return c.verdict == payment.VerdictAction && c.answer == "" }

// isDue tells whether the charge's line says that it is in progress, but the time at which it finishes has come.
func (c *charge) isDue(now time.Time) bool { return c.isInProgress() && !now.Before(c.changedAt) }

// asOf returns the charge's state at the instant now.
func (c charge) asOf(now time.Time) charge {
	if !c.isDue(now) {
		return c
	}
	c.verdict = payment.VerdictHeld
	if c.next == willCharge {
		c.verdict, c.capturedAmount = payment.VerdictCharged, c.amount
	}
	c.next = ""
	return c
}

// outcome returns the charge's state at the instant now as an actors.Outcome.
func (c *charge) outcome(reference ledger.ID, now time.Time) actors.Outcome {
	if c.isDue(now) {
		finished := c.asOf(now)
		return finished.outcome(reference, now)
	}
	outcome := actors.Outcome{Verdict: c.verdict, Failure: failures[c.reason]}
	switch {
	case c.verdict == payment.VerdictCharged || c.verdict == payment.VerdictHeld:
		outcome.RRN, outcome.Meta = retrievalNumber(reference), c.cryptoMeta(metaConfirmed)
	case c.isInProgress():
		outcome.InquireAfter = c.changedAt.Sub(now)
	case c.awaitsPayer():
		outcome.KeepCard, outcome.Meta = c.payerAction.needsCardAgain(), c.cryptoMeta(metaAwaiting)
	case c.verdict == payment.VerdictAction:
		outcome.Verdict = payment.VerdictReady
	}
	return outcome
}

// cryptoMeta returns a copy of the object as bytes if the charge is a crypto deposit, and otherwise nil.
func (c *charge) cryptoMeta(object string) []byte {
	if c.payerAction != actionDeposit {
		return nil
	}
	return []byte(object)
}

// retrievalNumber returns the rail's number for a charge: 12 digits, derived from the reference. The number is not
// stored but computed again at each inquiry, so the function must never change.
func retrievalNumber(reference ledger.ID) string {
	const prime, digits, modulus = 1_099_511_628_211, 12, 1_000_000_000_000
	hash := uint64(14_695_981_039_346_656_037) // FNV-1a, 64 bits
	for _, b := range reference {
		hash = (hash ^ uint64(b)) * prime
	}
	number := hash % modulus
	var text [digits]byte
	for i := digits - 1; i >= 0; i-- {
		text[i] = byte('0' + number%10)
		number /= 10
	}
	return string(text[:])
}

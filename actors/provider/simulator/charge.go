package simulator

import (
	"fmt"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// answer is the payer's decision on the challenge page. The zero value means that there is none yet.
type answer string

const (
	approved answer = "approved"
	rejected answer = "refused"
)

// The simulated rail's own keys for crypto, which merchants see in merchant_meta.
const (
	metaAwaiting  = `{"status":"awaiting_deposit"}`
	metaConfirmed = `{"status":"confirmed"}`
)

// charge is the state of a charge after one of its lines. It changes with time; asOf returns its state
// at an instant.
type charge struct {
	operation actors.Operation // Pay or PayOut; 0: there is no charge
	verdict   payment.Verdict  // VerdictNotFound: there is no charge
	reason    string
	next      nextStep
	at        time.Time // time of next, if next has one; else the time of the charge's last change

	amount   money.Amount // authorised, or charged
	captured money.Amount // part of the amount; all of it unless the charge was held
	refunded money.Amount // part of captured, refunds in progress included

	refunds     refundMode
	payerAction payerAction // stays set after the payer has acted
	answer      answer
	asset       string // as money.Asset prints it; for the challenge page and for the payload to be signed
	returnURL   string // where the challenge page sends the payer

	sequence uint64    // how many times a payload to be signed was published
	expires  time.Time // the end of the time in which that payload may be signed
}

// noCharge is the state of a reference without a charge.
var noCharge = charge{verdict: payment.VerdictNotFound}

// open turns the empty charge into the charge of a call that opens it.
func (c *charge) open(call *actors.Call, d *decision, now time.Time) {
	c.operation, c.amount, c.payerAction = call.Operation, call.Amount, d.payerAction
	switch {
	case d.payerAction.isOnPage():
		c.asset, c.returnURL = call.Asset.String(), d.returnURL
	case d.payerAction == asksSignature:
		c.asset = call.Asset.String()
		c.publish(now)
	}
	c.apply(d, now)
}

// publish reserves the next sequence number for a payload to be signed.
func (c *charge) publish(now time.Time) {
	c.sequence++
	c.expires = now.Add(signWithin)
}

// payload returns what is to be signed. It names the payment, so no two payloads are equal.
func (c *charge) payload(reference ledger.ID) string {
	return fmt.Sprintf("simulator:native_gas:%s:%s:%s:%d", c.asset, c.amount, reference, c.sequence)
}

// apply applies a decision to the charge.
func (c *charge) apply(d *decision, now time.Time) {
	c.verdict, c.reason, c.next, c.refunds = d.verdict, d.reason, d.next, d.refunds
	c.at = now.Add(d.after)
	c.captured = money.Amount{}
	if c.verdict == payment.VerdictCharged {
		c.captured = c.amount
	}
}

// inProgress tells whether the rail will finish the charge by itself when its time comes.
func (c *charge) inProgress() bool {
	return c.verdict == payment.VerdictPending || c.verdict == payment.VerdictUnknown
}

// awaitsPayer tells whether the payer has to act and has not acted yet.
func (c *charge) awaitsPayer() bool { return c.verdict == payment.VerdictAction && c.answer == "" }

// finishes tells whether the time has come at which the rail finishes the charge.
func (c *charge) finishes(now time.Time) bool { return c.inProgress() && !now.Before(c.at) }

// asOf returns the charge's state at the instant now.
func (c charge) asOf(now time.Time) charge {
	if !c.finishes(now) {
		return c
	}
	c.verdict = payment.VerdictHeld
	if c.next == willCharge {
		c.verdict, c.captured = payment.VerdictCharged, c.amount
	}
	c.next = ""
	return c
}

// outcome returns the charge's state at the instant now as an actors.Outcome.
func (c *charge) outcome(reference ledger.ID, now time.Time) actors.Outcome {
	if c.finishes(now) {
		then := c.asOf(now)
		return then.outcome(reference, now)
	}
	o := actors.Outcome{Verdict: c.verdict, Failure: failures[c.reason]}
	switch {
	case c.verdict == payment.VerdictCharged || c.verdict == payment.VerdictHeld:
		o.RRN, o.Meta = retrievalNumber(reference), c.meta(metaConfirmed)
	case c.inProgress():
		o.Again = c.at.Sub(now)
	case c.awaitsPayer():
		o.KeepCard, o.Meta = c.payerAction.needsCardAgain(), c.meta(metaAwaiting)
	case c.verdict == payment.VerdictAction:
		o.Verdict = payment.VerdictReady
	}
	return o
}

// meta returns the rail's own keys, which only crypto has. The caller owns the bytes.
func (c *charge) meta(object string) []byte {
	if c.payerAction != asksDeposit {
		return nil
	}
	return []byte(object)
}

// retrievalNumber returns the rail's number for a charge, 12 digits, derived from the reference.
// Inquiries compute it again, so the function must never change.
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

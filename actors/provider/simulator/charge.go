package simulator

import (
	"fmt"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// answer is the payer's, on the challenge page. The zero value is none yet.
type answer string

const (
	approved answer = "approved"
	rejected answer = "refused"
)

// The rail's own key of crypto, which merchants see in merchant_meta
// (specification, rules on fields, 5).
const (
	metaAwaiting  = `{"status":"awaiting_deposit"}`
	metaConfirmed = `{"status":"confirmed"}`
)

// charge is what the rail knows of a charge, as one of its lines leaves it. It
// goes on with time: at an instant it is what by says.
type charge struct {
	operation actors.Operation // Pay or PayOut; 0: there is none
	verdict   payment.Verdict  // VerdictNotFound: there is none
	reason    string
	then      fate
	at        time.Time // when the rail does then, where that has a time; else when the charge became what it is

	amount   money.Amount // authorised, or charged
	captured money.Amount // of the amount; all of it where nothing was held
	refunded money.Amount // of what was captured, and what is on its way back

	refunds   refunding
	ask       ask // stays when the payer has acted
	answer    answer
	asset     string // for the challenge page and for what is to be signed, as money.Asset prints it
	returnURL string // where the challenge page sends the payer

	sequence uint64    // of what is to be signed: how often it was published
	expires  time.Time // until when that may be signed
}

// nothing is the charge of a reference that the rail has no charge for.
var nothing = charge{verdict: payment.VerdictNotFound}

// open makes the empty charge the one of a call that opens it.
func (c *charge) open(call *actors.Call, d *decision, now time.Time) {
	c.operation, c.amount, c.ask = call.Operation, call.Amount, d.ask
	switch {
	case d.ask.onPage():
		c.asset, c.returnURL = call.Asset.String(), d.returnURL
	case d.ask == asksSignature:
		c.asset = call.Asset.String()
		c.publish(now)
	}
	c.become(d, now)
}

// publish reserves the next sequence number for what is to be signed.
func (c *charge) publish(now time.Time) {
	c.sequence++
	c.expires = now.Add(signWithin)
}

// payload is what is to be signed. It says what is paid, so that no two are alike.
func (c *charge) payload(reference ledger.ID) string {
	return fmt.Sprintf("simulator:native_gas:%s:%s:%s:%d", c.asset, c.amount, reference, c.sequence)
}

// become makes the charge what was decided.
func (c *charge) become(d *decision, now time.Time) {
	c.verdict, c.reason, c.then, c.refunds = d.verdict, d.reason, d.then, d.refunds
	c.at = now.Add(d.after)
	c.captured = money.Amount{}
	if c.verdict == payment.VerdictCharged {
		c.captured = c.amount
	}
}

// under tells whether the rail is still at it: time decides.
func (c *charge) under() bool {
	return c.verdict == payment.VerdictPending || c.verdict == payment.VerdictUnknown
}

// waiting tells whether the payer has to act and has not.
func (c *charge) waiting() bool { return c.verdict == payment.VerdictAction && c.answer == "" }

// over tells whether the rail has come to the end of what it was at.
func (c *charge) over(now time.Time) bool { return c.under() && !now.Before(c.at) }

// by is the charge at the instant now.
func (c charge) by(now time.Time) charge {
	if !c.over(now) {
		return c
	}
	c.verdict = payment.VerdictHeld
	if c.then == charges {
		c.verdict, c.captured = payment.VerdictCharged, c.amount
	}
	c.then = ""
	return c
}

// outcome is what the charge is at the instant now, in the interface's words.
func (c *charge) outcome(reference ledger.ID, now time.Time) actors.Outcome {
	if c.over(now) {
		then := c.by(now)
		return then.outcome(reference, now)
	}
	o := actors.Outcome{Verdict: c.verdict, Failure: failures[c.reason]}
	switch {
	case c.verdict == payment.VerdictCharged || c.verdict == payment.VerdictHeld:
		o.RRN, o.Meta = retrievalNumber(reference), c.meta(metaConfirmed)
	case c.under():
		o.Again = c.at.Sub(now)
	case c.waiting():
		o.KeepCard, o.Meta = c.ask.ofCard(), c.meta(metaAwaiting)
	case c.verdict == payment.VerdictAction:
		o.Verdict = payment.VerdictReady
	}
	return o
}

// meta is the rail's own keys, which only crypto has. The bytes are the caller's.
func (c *charge) meta(object string) []byte {
	if c.ask != asksDeposit {
		return nil
	}
	return []byte(object)
}

// retrievalNumber is the rail's own number for a charge, 12 digits, always the
// same for a reference. Answers are derived again at each inquiry, so this must
// never change.
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

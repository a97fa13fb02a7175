package simulator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// The reasons for which an operation on a charge is refused.
const (
	reasonInUse         = "reference_in_use"
	reasonNotHeld       = "not_held"
	reasonAboveHeld     = "amount_above_authorization"
	reasonAboveCharge   = "amount_above_charge"
	reasonNoAmount      = "amount_missing"
	reasonCharged       = "already_charged"
	reasonVoided        = "voided"
	reasonNotSettled    = "not_settled"
	reasonTakenBack     = "taken_back"
	reasonRefundRefused = "refund_refused_by_issuer"
)

// statusRefunding is what a refund that is under way is passed through as.
const statusRefunding = "refunding"

const (
	password = "123456" // the one that every payer gets

	// maxMaterial bounds the material that is looked at: the object with the
	// password has less, and it is read while other calls wait.
	maxMaterial = 1 << 10
)

// destinations are the institutions that a recipient chooses from.
var destinations = []payment.Destination{
	{ID: "sim-bank-1", Name: "First Simulated Bank"},
	{ID: "sim-bank-2", Name: "Bank of the Second Example"},
	{ID: "sim-bank-3", Name: "Sandbox Savings Bank"},
	{ID: "sim-bank-4", Name: "Invented Credit Union"},
}

// result is what the rail makes of an operation.
type result struct {
	verdict payment.Verdict
	reason  string
	done    time.Time // when a refund that is under way is done
}

var granted = result{verdict: payment.VerdictCharged}

func refuse(reason string) result {
	return result{verdict: payment.VerdictRefused, reason: reason}
}

// perform is what the rail makes of a call, and the charge as it leaves it. The
// charge is as it is by the instant now; decided is for what opens one.
func (c charge) perform(call *actors.Call, decided *decision, now time.Time) (result, charge) {
	switch {
	case opens(call.Operation) && c.operation != 0:
		return refuse(reasonInUse), c
	case opens(call.Operation):
		c = charge{}
		c.open(call, decided, now)
		return result{verdict: c.verdict, reason: c.reason}, c
	case c.operation == 0:
		return result{verdict: payment.VerdictNotFound}, c
	}
	switch call.Operation {
	case actors.Complete:
		return c.complete(call, now)
	case actors.Capture:
		return c.capture(call.Amount, now)
	case actors.Void:
		return c.void(now)
	}
	return c.refund(call.Amount, now)
}

// complete goes on with a charge whose payer has acted. A charge that does not
// wait for anyone is what it is: whoever asks twice learns how it stands.
func (c charge) complete(call *actors.Call, now time.Time) (result, charge) {
	if c.verdict == payment.VerdictAction {
		if d := c.completion(call, now); d.verdict != payment.VerdictAction {
			c.become(&d, now)
		}
	}
	if c.under() {
		return result{verdict: payment.VerdictPending}, c
	}
	return result{verdict: c.verdict, reason: c.reason}, c
}

// completion decides on a charge that waits for its payer. The card decides
// last, and as if it asked for nothing: its payer has acted.
func (c *charge) completion(call *actors.Call, now time.Time) decision {
	if c.ask.ofCard() && (call.Card == nil || len(call.Card.Number) == 0) {
		return failed(reasonNoCard)
	}
	if refusal, ok := c.acted(call, now); !ok {
		return refusal
	}
	d := charged
	if c.ask.ofCard() {
		if d = ofCard(c.operation, call.Card.Number); d.verdict == payment.VerdictAction {
			d = charged
		}
	}
	if c.then == holds {
		return d.held()
	}
	return d
}

// acted tells whether the payer did what was asked; else why it goes no further.
func (c *charge) acted(call *actors.Call, now time.Time) (decision, bool) {
	switch {
	case c.ask == asksPassword:
		return refused(reasonAuthentication), textIn(call.Material, "otp") == password
	case c.ask == asksSignature && now.After(c.expires):
		return waitsFor(c.ask), false // the sequence number is another's by now
	case c.ask == asksSignature:
		digest := sha256.Sum256([]byte(c.payload(call.Reference)))
		return refused(reasonAuthentication), textIn(call.Material, "signature") == hex.EncodeToString(digest[:])
	case c.ask == asksChoice:
		chosen := func(d payment.Destination) bool { return d.ID == call.Choice }
		return refused(reasonDestination), slices.ContainsFunc(destinations, chosen)
	case c.answer == "":
		return waitsFor(c.ask), false
	}
	return refused(reasonAuthentication), c.answer == approved
}

// textIn is a text of that name in the material, empty if there is none.
func textIn(material []byte, name string) string {
	var fields map[string]any // a struct would take "OTP" for "otp"
	if len(material) > maxMaterial || json.Unmarshal(material, &fields) != nil {
		return ""
	}
	given, _ := fields[name].(string)
	return given
}

// capture takes of a hold what is asked for and lets the rest go.
func (c charge) capture(amount money.Amount, now time.Time) (result, charge) {
	switch {
	case c.verdict != payment.VerdictHeld:
		return refuse(reasonNotHeld), c
	case amount.IsZero():
		return refuse(reasonNoAmount), c
	case c.amount.Less(amount):
		return refuse(reasonAboveHeld), c
	}
	c.verdict, c.captured, c.at = payment.VerdictCharged, amount, now
	if c.then == reverses {
		c.at = now.Add(chargebackAfter)
	}
	return granted, c
}

// void gives up what has not been charged. What was refused or failed is given
// up already, and stays what it was.
func (c charge) void(now time.Time) (result, charge) {
	switch c.verdict {
	case payment.VerdictCharged:
		return refuse(reasonCharged), c
	case payment.VerdictRefused, payment.VerdictFailed:
		return granted, c
	}
	given := refused(reasonVoided)
	c.become(&given, now)
	return granted, c
}

// refund returns settled money. What is on its way back counts as returned.
func (c charge) refund(amount money.Amount, now time.Time) (result, charge) {
	if c.verdict != payment.VerdictCharged {
		return refuse(reasonNotSettled), c
	}
	if c.then == reverses && !now.Before(c.at) {
		return refuse(reasonTakenBack), c
	}
	left, err := c.captured.Sub(c.refunded)
	switch {
	case amount.IsZero():
		return refuse(reasonNoAmount), c
	case err != nil || left.Less(amount):
		return refuse(reasonAboveCharge), c
	case c.refunds == refusesRefunds:
		return refuse(reasonRefundRefused), c
	}
	if c.refunded, err = c.refunded.Add(amount); err != nil {
		return refuse(reasonAboveCharge), c
	}
	if c.then == reverses && c.refunded == c.captured {
		c.then = keeps
	}
	if c.refunds == delaysRefunds {
		return result{verdict: payment.VerdictPending, done: now.Add(delay)}, c
	}
	return granted, c
}

// answer is what the caller of the line's call is told at the instant now; c is
// the charge as its newest line leaves it. An operation that moved money or was
// refused stays what it was; what was under way is what the charge has become. A
// payment that is charged comes with a token.
func (l *line) answer(c *charge, now time.Time) actors.Outcome {
	verdict := verdicts[l.own.outcome]
	if l.own.operation == refunds || l.own.operation == voids {
		return l.own.returned(verdict, now)
	}
	if verdict == payment.VerdictPending || verdict == payment.VerdictUnknown {
		o := c.outcome(l.reference, now)
		if o.Verdict == payment.VerdictUnknown {
			o.Verdict = verdict
		}
		return c.with(o, l.reference)
	}
	then := charge{verdict: verdict, reason: l.own.reason, ask: c.ask}
	return c.with(then.outcome(l.reference, now), l.reference)
}

// returned is the answer for a Void or a Refund, which have no number of their own.
func (o *own) returned(verdict payment.Verdict, now time.Time) actors.Outcome {
	switch {
	case verdict != payment.VerdictPending:
		return actors.Outcome{Verdict: verdict, Failure: failures[o.reason]}
	case now.Before(o.done):
		return actors.Outcome{Verdict: verdict, Status: statusRefunding, Again: o.done.Sub(now)}
	}
	return actors.Outcome{Verdict: payment.VerdictCharged}
}

// requested is what tells the operation from others of its charge: a charge is
// opened once, whatever the request.
func requested(operation actors.Operation, request ledger.ID) ledger.ID {
	if opens(operation) {
		return ledger.ID{}
	}
	return request
}

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

// Reasons why an operation on a charge is refused.
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

// statusRefunding is the Outcome.Status of a refund in progress.
const statusRefunding = "refunding"

const (
	password = "123456" // the one-time password of every payer

	// maxMaterial bounds, in bytes, the JSON object that a payer submits. A longer object is not parsed, because
	// parsing delays other calls. Every valid password or signature fits.
	maxMaterial = 1 << 10
)

// destinations are the institutions that a recipient chooses from.
var destinations = []payment.Destination{
	{ID: "sim-bank-1", Name: "First Simulated Bank"},
	{ID: "sim-bank-2", Name: "Bank of the Second Example"},
	{ID: "sim-bank-3", Name: "Sandbox Savings Bank"},
	{ID: "sim-bank-4", Name: "Invented Credit Union"},
}

// result is the answer of the rail (the simulated payment network) to an operation.
type result struct {
	verdict payment.Verdict
	reason  string
	doneAt  time.Time // when a refund in progress will be done
}

var grantedResult = result{verdict: payment.VerdictCharged}

func refusedResult(reason string) result {
	return result{verdict: payment.VerdictRefused, reason: reason}
}

// perform returns the result of a call and the state of the charge after the call. The receiver must be the
// charge's state at the instant now. openingDecision is used only if the call opens a charge.
func (c charge) perform(call *actors.Call, openingDecision *decision, now time.Time) (result, charge) {
	switch {
	case beginsCharge(call.Operation) && c.operation != 0:
		return refusedResult(reasonInUse), c
	case beginsCharge(call.Operation):
		c = charge{}
		c.open(call, openingDecision, now)
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

// complete continues a charge whose payer has acted. If the charge does not wait for its payer,
// complete only returns its current state; a repeated call is such a case.
func (c charge) complete(call *actors.Call, now time.Time) (result, charge) {
	if c.verdict == payment.VerdictAction {
		if d := c.completionDecision(call, now); d.verdict != payment.VerdictAction {
			c.apply(&d, now)
		}
	}
	if c.isInProgress() {
		return result{verdict: payment.VerdictPending}, c
	}
	return result{verdict: c.verdict, reason: c.reason}, c
}

// completionDecision decides on a charge that waits for its payer. If the payer has acted, the card is
// charged, even if its number stands for a decision that requires an action.
func (c *charge) completionDecision(call *actors.Call, now time.Time) decision {
	if c.payerAction.needsCardAgain() && (call.Card == nil || len(call.Card.Number) == 0) {
		return failedDecision(reasonNoCard)
	}
	if refusal, ok := c.checkAction(call, now); !ok {
		return refusal
	}
	d := chargedDecision
	if c.payerAction.needsCardAgain() {
		if d = cardDecision(c.operation, call.Card.Number); d.verdict == payment.VerdictAction {
			d = chargedDecision
		}
	}
	if c.next == willHold {
		return d.authorizedOnly()
	}
	return d
}

// checkAction returns true if the payer has carried out the requested action. Otherwise it returns the decision
// on the charge that follows from this.
func (c *charge) checkAction(call *actors.Call, now time.Time) (decision, bool) {
	switch {
	case c.payerAction == actionPassword:
		return refusedDecision(reasonAuthentication), textField(call.Material, "otp") == password
	case c.payerAction == actionSignature && now.After(c.expires):
		return awaitingDecision(c.payerAction), false // another payment may have got the sequence number meanwhile
	case c.payerAction == actionSignature:
		digest := sha256.Sum256([]byte(c.payload(call.Reference)))
		return refusedDecision(reasonAuthentication), textField(call.Material, "signature") == hex.EncodeToString(digest[:])
	case c.payerAction == actionChoice:
		isChosen := func(d payment.Destination) bool { return d.ID == call.Choice }
		return refusedDecision(reasonDestination), slices.ContainsFunc(destinations, isChosen)
	case c.answer == "":
		return awaitingDecision(c.payerAction), false
	}
	return refusedDecision(reasonAuthentication), c.answer == answerApproved
}

// textField returns the text in a field of the material. It returns the empty text if there is no such field.
func textField(material []byte, name string) string {
	var fields map[string]any // a struct would accept "OTP" for "otp"
	if len(material) > maxMaterial || json.Unmarshal(material, &fields) != nil {
		return ""
	}
	submitted, _ := fields[name].(string)
	return submitted
}

// capture charges the requested part of a hold and releases the rest.
func (c charge) capture(amount money.Amount, now time.Time) (result, charge) {
	switch {
	case c.verdict != payment.VerdictHeld:
		return refusedResult(reasonNotHeld), c
	case amount.IsZero():
		return refusedResult(reasonNoAmount), c
	case c.amount.Less(amount):
		return refusedResult(reasonAboveHeld), c
	}
	c.verdict, c.capturedAmount, c.changedAt = payment.VerdictCharged, amount, now
	if c.next == willChargeBack {
		c.changedAt = now.Add(chargebackAfter)
	}
	return grantedResult, c
}

// void cancels a charge in progress or releases a hold. If the charge was refused or has failed, void
// changes nothing and succeeds.
func (c charge) void(now time.Time) (result, charge) {
	switch c.verdict {
	case payment.VerdictCharged:
		return refusedResult(reasonCharged), c
	case payment.VerdictRefused, payment.VerdictFailed:
		return grantedResult, c
	}
	voidDecision := refusedDecision(reasonVoided)
	c.apply(&voidDecision, now)
	return grantedResult, c
}

// refund returns settled money. The money of a refund in progress counts as already returned.
func (c charge) refund(amount money.Amount, now time.Time) (result, charge) {
	if c.verdict != payment.VerdictCharged {
		return refusedResult(reasonNotSettled), c
	}
	if c.next == willChargeBack && !now.Before(c.changedAt) {
		return refusedResult(reasonTakenBack), c
	}
	refundable, err := c.capturedAmount.Sub(c.refundedAmount)
	switch {
	case amount.IsZero():
		return refusedResult(reasonNoAmount), c
	case err != nil || refundable.Less(amount):
		return refusedResult(reasonAboveCharge), c
	case c.refundMode == refusesRefunds:
		return refusedResult(reasonRefundRefused), c
	}
	if c.refundedAmount, err = c.refundedAmount.Add(amount); err != nil {
		return refusedResult(reasonAboveCharge), c
	}
	if c.next == willChargeBack && c.refundedAmount == c.capturedAmount {
		c.next = chargebackCancelled
	}
	if c.refundMode == delaysRefunds {
		return result{verdict: payment.VerdictPending, doneAt: now.Add(slowDelay)}, c
	}
	return grantedResult, c
}

// callOutcome returns the outcome of the line's call at the instant now; c is the state of the charge in its
// newest line. If the operation moved money or was refused, its outcome never changes. If it was in progress,
// the outcome follows from the charge's current state. The outcome of a charged payment contains a token.
func (line *record) callOutcome(c *charge, now time.Time) actors.Outcome {
	verdict := verdicts[line.call.outcome]
	if line.call.operation == refundOperation || line.call.operation == voidOperation {
		return line.call.undoOutcome(verdict, now)
	}
	if verdict == payment.VerdictPending || verdict == payment.VerdictUnknown {
		outcome := c.outcome(line.reference, now)
		if outcome.Verdict == payment.VerdictUnknown {
			outcome.Verdict = verdict
		}
		return c.withToken(outcome, line.reference)
	}
	atCall := charge{verdict: verdict, reason: line.call.reason, payerAction: c.payerAction}
	return c.withToken(atCall.outcome(line.reference, now), line.reference)
}

// undoOutcome returns the outcome of a Void or a Refund; these operations have no retrieval number of their own.
func (call *callFields) undoOutcome(verdict payment.Verdict, now time.Time) actors.Outcome {
	switch {
	case verdict != payment.VerdictPending:
		return actors.Outcome{Verdict: verdict, Failure: failures[call.reason]}
	case now.Before(call.doneAt):
		return actors.Outcome{Verdict: verdict, Status: statusRefunding, InquireAfter: call.doneAt.Sub(now)}
	}
	return actors.Outcome{Verdict: payment.VerdictCharged}
}

// requestOf returns the request's id, which distinguishes an operation on a charge from other operations of the
// same kind. For an operation that opens a charge it returns the zero id, because a charge is opened only once.
func requestOf(operation actors.Operation, request ledger.ID) ledger.ID {
	if beginsCharge(operation) {
		return ledger.ID{}
	}
	return request
}

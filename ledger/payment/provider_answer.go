package payment

import (
	"bytes"
	"time"

	"mizan/ledger"
)

// ProviderAnswer is a provider's answer to a submission or an inquiry.
type ProviderAnswer struct {
	Verdict       Verdict
	Failure       Failure       // for VerdictRefused, VerdictFailed and VerdictNotSent: the reason that the rail gave
	RRN           string        // retrieval reference number; empty if none
	NextInquiryIn time.Duration // delay before the next inquiry; if 0, InquiryTimeout, doubled after each inquiry
	Status        Status        // an intermediate state of the rail; empty if none
	Meta          []byte        // JSON object with the rail's own keys; if nil, the stored object stays
	Action        *Action       // for VerdictAction: the payer's next action; if nil, the stored action stays
	Token         []byte        // for VerdictCharged: the provider's token for the charged card, encrypted; nil if none
	KeepCard      bool          // for VerdictAction: whether the encrypted card must stay stored for a later step
	Inquired      bool          // whether the answer is to an inquiry, not to a submission
	Reissued      bool          // whether the answer is to ReissueAction; if so, Action is the previous action, published again
	MayArrive     bool          // for VerdictNotFound: the submission may still be on its way, so the answer proves nothing
}

// DecideProviderAnswer returns the decision on a provider's answer about the charge. ok is false if the answer changes
// nothing. While an operation on the charge, such as a void, is under way, ok is false too, because then only the answer
// about the operation counts.
func (c DecisionContext) DecideProviderAnswer(r *Record, a ProviderAnswer) (d Decision, ok bool) {
	if r.Op != nil && r.Op.Kind != OpComplete {
		return Decision{}, false
	}
	switch {
	case r.Status == Rejected, r.Status == Failed:
		return c.decideLateAnswer(r, a)
	case r.Status == Authorizing, r.Status == ActionRequired, r.Status.AtProvider(), r.Status.IsHeld():
	default:
		return Decision{}, false
	}
	d = newDecision(r)
	d.MustRecord = true
	if a.Meta != nil {
		d.Record.RailMeta = a.Meta
	}
	if a.Verdict == VerdictNotSent && (r.Status != Authorizing || r.NotFoundAnswers > 0) {
		a.Verdict = VerdictUnknown // the charge was sent earlier, so it is an inquiry that could not be sent
	}
	switch a.Verdict {
	case VerdictCharged:
		c.settle(&d, a)
	case VerdictHeld:
		ok = c.onHeld(&d, a)
		return d, ok
	case VerdictRefused:
		c.onDeclined(&d, a)
	case VerdictFailed, VerdictNotSent:
		c.onFailed(&d, a)
	case VerdictNotFound:
		return d, c.onNotFound(&d, a)
	case VerdictAction:
		if r.Op != nil && r.Op.Choice != "" && a.Inquired {
			return d, c.onReady(&d) // the provider still asks for an action, so it never received the payer's choice
		}
		return d, c.onAction(&d, a)
	case VerdictReady:
		return d, c.onReady(&d)
	case VerdictPrepared:
		return d, c.onPrepared(&d, r, a)
	default:
		return d, c.onPending(&d, a)
	}
	return d, true
}

// IsUnchangedBy tells whether an answer changes nothing, because the rail is still processing the charge or did not
// answer.
func (r *Record) IsUnchangedBy(a ProviderAnswer) bool {
	return r.Status.AtProvider() && r.Op == nil && (a.Verdict == VerdictPending || a.Verdict == VerdictUnknown) &&
		(a.Status == "" || a.Status == r.Status)
}

// moveToCharging sets the status to charging if the charge was being submitted or was waiting for its payer. Any other
// status stays.
func (d *Decision) moveToCharging() {
	switch d.Record.Status {
	case Authorizing:
		d.move(Process, nil)
	case ActionRequired:
		d.move(Submit, nil)
	}
}

func (c DecisionContext) settle(d *Decision, a ProviderAnswer) {
	if !d.Record.Status.IsHeld() {
		d.moveToCharging()
	}
	if a.RRN != "" {
		d.Record.RRN = a.RRN
	}
	d.Record.keepToken(a)
	entry := d.Record.settlementEntry()
	d.Counters = c.counterSlice(d.Counters)
	if r := d.Record; r.Status.IsHeld() {
		// The provider has captured the hold, although the answer to the commit was lost or there was no commit. The
		// captured amount is the amount of the last commit or, without a commit, the whole amount.
		r.CapturedAmount = r.Amount
		if !r.LastCommit.IsZero() {
			heldPostings, original := r.holdEntry().Postings, *r
			assertPriced(r.price(r.LastCommit))
			d.Counters = append(d.Counters, r.releaseSurplus(&original, c.Org)...)
			r.CapturedAmount = r.LastCommit
			entry = r.captureEntry(heldPostings)
		}
	}
	d.Counters = d.Record.settleVolumes(c.Org, d.Counters)
	d.move(Settle, entry)
	d.end(Failure{})
}

// onHeld records that the money is held. It returns false if the record does not change.
func (c DecisionContext) onHeld(d *Decision, a ProviderAnswer) bool {
	r := d.Record
	if r.Status.IsHeld() {
		return c.onUnchanged(d, a)
	}
	d.moveToCharging()
	r.ConfirmedByProvider = true
	if a.RRN != "" {
		r.RRN = a.RRN
	}
	if r.Type == Payout {
		d.move(HoldPayout, nil)
	} else {
		d.move(HoldPayment, r.holdEntry())
	}
	r.Action, r.Op, r.KeepCard = nil, nil, false
	r.HoldUntil = c.fromNow(r.HoldTTL)
	d.Due = r.HoldUntil
	return true
}

func (c DecisionContext) onDeclined(d *Decision, a ProviderAnswer) {
	if d.Record.Status.IsHeld() {
		c.onFailed(d, a)
		return
	}
	if c.mayTryAgain(d.Record) {
		c.endAttempt(d, AttemptRefused, a.Failure.orCode(CardDeclined))
		return
	}
	d.move(Decline, d.Record.releaseEntry())
	d.giveUp(c, a.Failure.orCode(CardDeclined))
}

func (c DecisionContext) onFailed(d *Decision, a ProviderAnswer) {
	if a.Verdict == VerdictNotSent && c.mayTryAgain(d.Record) {
		c.endAttempt(d, AttemptNotSent, a.Failure.orCode(ProcessingError))
		return
	}
	if !d.Record.Status.IsHeld() && a.Verdict != VerdictNotSent {
		d.moveToCharging()
	}
	d.move(Fail, d.Record.releaseEntry())
	d.giveUp(c, a.Failure.orCode(ProcessingError))
}

// onNotFound decides on the answer "unknown reference". After the first such answer, the provider is asked once more, one
// provider time-out later. If it gives the same answer again, the call never arrived: a renewal is submitted again, and
// any other charge fails. A charge that the provider has confirmed before never fails in this way. While the submission may still
// be on its way, each answer counts as the first one.
func (c DecisionContext) onNotFound(d *Decision, a ProviderAnswer) bool {
	r := d.Record
	if r.ConfirmedByProvider && (r.Op == nil || r.Op.Answered) {
		return c.onUnchanged(d, ProviderAnswer{Verdict: VerdictNotFound})
	}
	if r.NotFoundAnswers == 0 || r.ConfirmedByProvider || a.MayArrive {
		r.NotFoundAnswers = 1
		if r.Op != nil {
			o := *r.Op
			o.Answered = true
			r.Op = &o
		}
		d.move(AwaitOutcome, nil)
		d.Due = c.fromNow(c.InquiryTimeout)
		return true
	}
	if c.resend(d) {
		return true
	}
	d.moveToCharging()
	d.move(Fail, r.releaseEntry())
	d.giveUp(c, Failure{Code: Interrupted})
	return true
}

// onAction publishes the payer's action. It returns false if the record does not change.
func (c DecisionContext) onAction(d *Decision, a ProviderAnswer) bool {
	r := d.Record
	r.NotFoundAnswers, r.ConfirmedByProvider = 0, true
	if r.Status.IsHeld() || r.Status == ActionRequired && (a.Action == nil || a.Reissued && a.Action.isStaleFor(ledger.MicrosOf(c.Now), true)) {
		return c.onUnchanged(d, a)
	}
	r.Inquiries = 0
	waiting := r.Status == ActionRequired
	if r.Status == Authorizing {
		d.move(Process, nil)
	}
	if waiting && a.Reissued {
		d.move(Reissue, nil) // the merchant is not notified of this event
	} else {
		d.move(RequireAction, nil)
	}
	var action Action // stays empty if the answer with the action was lost
	deadline := c.fromNow(c.ActionTTL)
	if r.Action != nil {
		action = *r.Action
	}
	if r.Action != nil && (a.Action == nil || waiting) {
		deadline = r.Action.Until // the payer gets more time only after completing the previous action
	}
	if a.Action != nil {
		action = *a.Action
	}
	action.Until = deadline
	r.Action, r.Op = &action, nil
	r.KeepCard = r.KeepCard || a.KeepCard
	d.Due = c.dueWhileWaiting(r, a)
	return true
}

// onUnchanged decides on an answer that reports nothing new. If the record is due, it sets the next due instant and
// returns true. Otherwise it changes nothing and returns false.
func (c DecisionContext) onUnchanged(d *Decision, a ProviderAnswer) bool {
	if c.Due > ledger.MicrosOf(c.Now) {
		return false
	}
	d.move(AwaitOutcome, nil)
	d.Due = c.dueWhileWaiting(d.Record, a)
	return true
}

// onReady decides on VerdictReady, which says that the payer has acted and that the provider can continue the charge.
func (c DecisionContext) onReady(d *Decision) bool {
	r := d.Record
	r.ConfirmedByProvider = true
	if r.Op == nil && r.Status == Authorizing {
		d.moveToCharging() // Complete can begin its operation only in a status such as charging
		d.Due = c.nextInquiry(&r.Inquiries, ProviderAnswer{})
		return true
	}
	if r.Op == nil {
		return c.onUnchanged(d, ProviderAnswer{}) // the caller continues the charge with Complete
	}
	r.NotFoundAnswers = 0
	d.move(AwaitOutcome, nil)
	d.Due = c.nextInquiry(&r.Inquiries, ProviderAnswer{})
	d.ProviderRequest = SubmitOperation
	return true
}

// onPrepared decides on VerdictPrepared: as soon as the provider's id of the charge is stored, the charge is submitted once more. An
// answer without a new id says nothing, because another submission could get the same answer for ever.
func (c DecisionContext) onPrepared(d *Decision, before *Record, a ProviderAnswer) bool {
	if before.Status != Authorizing || a.Inquired || a.Meta == nil || bytes.Equal(a.Meta, before.RailMeta) {
		return c.onPending(d, ProviderAnswer{Verdict: VerdictUnknown})
	}
	d.move(Prepare, nil)
	d.Due = c.fromNow(c.InquiryTimeout)
	d.ProviderRequest = SubmitCharge
	return true
}

// onPending decides on VerdictPending (the rail is processing the charge) and on VerdictUnknown (the rail has not
// answered).
func (c DecisionContext) onPending(d *Decision, a ProviderAnswer) bool {
	r := d.Record
	if a.Verdict == VerdictPending { // VerdictUnknown does not confirm that the charge arrived
		r.NotFoundAnswers, r.ConfirmedByProvider = 0, true
	}
	switch {
	case r.Status.IsHeld(), r.Status == ActionRequired && a.Verdict == VerdictUnknown:
		return c.onUnchanged(d, a)
	case r.Status == Authorizing, r.Status == ActionRequired:
		d.moveToCharging()
	case r.Status.IsIntermediate() && a.Status == Charging:
		d.move(Process, nil)
	case !a.Status.IsIntermediate() || a.Status == r.Status:
		d.move(AwaitOutcome, nil)
	}
	if a.Status.IsIntermediate() && a.Status != r.Status {
		d.move(intermediateEvents[a.Status], nil)
	}
	if r.Op != nil && r.Op.Choice != "" && a.Verdict == VerdictUnknown {
		o := *r.Op // the payer's choice may not have arrived, so it may have to be sent again
		o.Answered = true
		r.Op = &o
	} else {
		r.Op = nil
	}
	d.Due = c.nextInquiry(&r.Inquiries, a)
	return true
}

// OnDue decides what to do with a record at its due instant. It is also called before that instant, for example after a
// restart; then early is true. If decided is true, d is the decision. Otherwise the caller has to send the question ask
// to the provider. request is the id of the operation that the decision may begin.
func (c DecisionContext) OnDue(r *Record, early bool, request ledger.ID) (ask ProviderRequest, d Decision, decided bool) {
	now := ledger.MicrosOf(c.Now)
	switch {
	case r.Op != nil && r.Op.Kind != OpComplete:
		return InquireOperation, Decision{}, false
	case r.AwaitsPayer() && !early:
		d = newDecision(r)
		d.move(Expire, nil)
		d.MustRecord = true
		d.end(Failure{Code: PayerActionExpired})
		return NoRequest, d, true
	case r.Status == ActionRequired && now >= r.Action.Until:
		return NoRequest, c.lapse(r, request, PayerActionExpired), true
	case r.Status.IsHeld() && now >= r.HoldUntil:
		return NoRequest, c.lapse(r, request, HoldExpired), true
	case r.Status.IsHeld() && c.Due < r.HoldUntil: // an earlier void failed
		return InquireCharge, Decision{}, false
	case r.LateSettlement:
		d, decided = c.DecideSuspenseRefund(r, request)
		return NoRequest, d, decided
	case r.Status == Authorizing, r.Status == ActionRequired, r.Status.AtProvider():
		return InquireCharge, Decision{}, false
	}
	return NoRequest, Decision{}, false
}

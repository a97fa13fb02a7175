package payment

import (
	"time"

	"mizan/ledger"
)

// Answer is a provider's answer to a submission or an inquiry.
type Answer struct {
	Verdict       Verdict
	Failure       Failure       // for VerdictRefused, VerdictFailed and VerdictNotSent: the reason of the rail
	RRN           string        // retrieval reference number; empty: none
	NextInquiryIn time.Duration // delay before the next inquiry; 0: DecisionContext.InquiryTimeout, doubled after each inquiry
	Status        Status        // an intermediate state of the rail; empty: none
	Meta          []byte        // JSON object of the rail's own keys; nil: the stored keys stay
	Action        *Action       // for VerdictAction: the payer's next action; nil: the stored action stays
	Token         []byte        // for VerdictCharged: the provider's token for the charged card, encrypted; nil: none
	KeepCard      bool          // for VerdictAction: the encrypted card stays stored for a later step
	Inquired      bool          // the answer to an inquiry, not to a submission
	Reissued      bool          // the answer to AskReissue; Action is the previous action, published again
}

// DecideAnswer returns the decision on a provider's answer about the charge. ok is false if the answer changes nothing. It is
// also false while another operation on the charge is under way, because then only the answer about that operation decides.
func (c DecisionContext) DecideAnswer(r *Record, a Answer) (d Decision, ok bool) {
	if r.Op != nil && r.Op.Kind != OpComplete {
		return Decision{}, false
	}
	switch {
	case r.Status == Rejected, r.Status == Failed:
		return c.decideLateAnswer(r, a)
	case r.Status == Authorizing, r.Status == ActionRequired, r.Status.AtProvider(), r.Status.Held():
	default:
		return Decision{}, false
	}
	d = newDecision(r)
	d.MustRecord = true
	if a.Meta != nil {
		d.Record.RailMeta = a.Meta
	}
	if a.Verdict == VerdictNotSent && (r.Status != Authorizing || r.NotFoundAnswers > 0) {
		a.Verdict = VerdictUnknown // the rail has the charge already, so only an inquiry was not sent
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
		return d, c.onNotFound(&d)
	case VerdictAction:
		if r.Op != nil && r.Op.Choice != "" && a.Inquired {
			return d, c.onReady(&d) // the payer's choice never arrived at the provider
		}
		return d, c.onAction(&d, a)
	case VerdictReady:
		return d, c.onReady(&d)
	default:
		return d, c.onPending(&d, a)
	}
	return d, true
}

// IsNoNews tells whether an answer changes nothing: the rail still has the charge, or did not answer.
func (r *Record) IsNoNews(a Answer) bool {
	return r.Status.AtProvider() && r.Op == nil && (a.Verdict == VerdictPending || a.Verdict == VerdictUnknown) &&
		(a.Status == "" || a.Status == r.Status)
}

// moveToCharging moves a charge that was being submitted, or waited for its payer, to status charging. It leaves any
// other status as it is.
func (d *Decision) moveToCharging() {
	switch d.Record.Status {
	case Authorizing:
		d.move(Process, nil)
	case ActionRequired:
		d.move(Submit, nil)
	}
}

func (c DecisionContext) settle(d *Decision, a Answer) {
	if !d.Record.Status.Held() {
		d.moveToCharging()
	}
	if a.RRN != "" {
		d.Record.RRN = a.RRN
	}
	d.Record.keepToken(a)
	entry := d.Record.settlementEntry()
	d.Counters = c.counterSlice(d.Counters)
	if r := d.Record; r.Status.Held() {
		// The provider has captured the hold, although the answer to the commit was lost or there was no commit. The captured
		// amount is that of the last commit; if there was none, it is the whole amount.
		r.Captured = r.Amount
		if !r.LastCommit.IsZero() {
			heldPostings, original := r.holdEntry().Postings, *r
			assertPriced(r.price(r.LastCommit))
			d.Counters = append(d.Counters, r.releaseSurplus(&original, c.Org)...)
			r.Captured = r.LastCommit
			entry = r.captureEntry(heldPostings)
		}
	}
	d.Counters = d.Record.settleVolumes(c.Org, d.Counters)
	d.move(Settle, entry)
	d.end(Failure{})
}

// onHeld records that the money is held. The result is false if the record does not change.
func (c DecisionContext) onHeld(d *Decision, a Answer) bool {
	r := d.Record
	if r.Status.Held() {
		return c.onNoNews(d, a)
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

func (c DecisionContext) onDeclined(d *Decision, a Answer) {
	if d.Record.Status.Held() {
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

func (c DecisionContext) onFailed(d *Decision, a Answer) {
	if a.Verdict == VerdictNotSent && c.mayTryAgain(d.Record) {
		c.endAttempt(d, AttemptNotSent, a.Failure.orCode(ProcessingError))
		return
	}
	if !d.Record.Status.Held() && a.Verdict != VerdictNotSent {
		d.moveToCharging()
	}
	d.move(Fail, d.Record.releaseEntry())
	d.giveUp(c, a.Failure.orCode(ProcessingError))
}

// onNotFound decides on the answer "unknown reference". After the first such answer, the provider is asked about the charge
// once more, one provider time-out later. A second such answer in a row means that the call never arrived, and the charge
// fails. If the provider has ever confirmed the charge, the charge does not fail.
func (c DecisionContext) onNotFound(d *Decision) bool {
	r := d.Record
	if r.ConfirmedByProvider && (r.Op == nil || r.Op.Answered) {
		return c.onNoNews(d, Answer{Verdict: VerdictNotFound})
	}
	if r.NotFoundAnswers == 0 || r.ConfirmedByProvider {
		r.NotFoundAnswers = 1
		if r.Op != nil {
			o := *r.Op
			o.Answered = true
			r.Op = &o
		}
		d.move(Await, nil)
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

// onAction publishes the payer's action. The result is false if the record does not change.
func (c DecisionContext) onAction(d *Decision, a Answer) bool {
	r := d.Record
	r.NotFoundAnswers, r.ConfirmedByProvider = 0, true
	if r.Status.Held() || r.Status == ActionRequired && (a.Action == nil || a.Reissued && a.Action.isStaleFor(ledger.MicrosOf(c.Now), true)) {
		return c.onNoNews(d, a)
	}
	r.Inquiries = 0
	waiting := r.Status == ActionRequired
	if r.Status == Authorizing {
		d.move(Process, nil)
	}
	if waiting && a.Reissued {
		d.move(Reissue, nil) // an event of which the merchant is not notified
	} else {
		d.move(Act, nil)
	}
	var action Action // empty if the answer with the action was lost
	deadline := c.fromNow(c.ActionTTL)
	if r.Action != nil {
		action = *r.Action
	}
	if r.Action != nil && (a.Action == nil || waiting) {
		deadline = r.Action.Until // the deadline is new only if the payer has completed the previous action
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

// onNoNews decides on an answer that reports nothing new. If the due instant has passed, it sets the next one. Otherwise
// it changes nothing and returns false.
func (c DecisionContext) onNoNews(d *Decision, a Answer) bool {
	if c.Due > ledger.MicrosOf(c.Now) {
		return false
	}
	d.move(Await, nil)
	d.Due = c.dueWhileWaiting(d.Record, a)
	return true
}

// onReady decides on VerdictReady. It continues a charge whose payer has acted.
func (c DecisionContext) onReady(d *Decision) bool {
	r := d.Record
	r.ConfirmedByProvider = true
	if r.Op == nil && r.Status == Authorizing {
		d.moveToCharging() // in status charging, Complete can begin the operation
		d.Due = c.nextInquiry(&r.Inquiries, Answer{})
		return true
	}
	if r.Op == nil {
		return c.onNoNews(d, Answer{}) // Complete begins the operation and gives it its id
	}
	r.NotFoundAnswers = 0
	d.move(Await, nil)
	d.Due = c.nextInquiry(&r.Inquiries, Answer{})
	d.Ask = AskOp
	return true
}

// onPending decides on VerdictPending (the rail has the charge) and on VerdictUnknown (the rail has not answered).
func (c DecisionContext) onPending(d *Decision, a Answer) bool {
	r := d.Record
	if a.Verdict == VerdictPending { // VerdictUnknown does not confirm that the charge arrived
		r.NotFoundAnswers, r.ConfirmedByProvider = 0, true
	}
	switch {
	case r.Status.Held(), r.Status == ActionRequired && a.Verdict == VerdictUnknown:
		return c.onNoNews(d, a)
	case r.Status == Authorizing, r.Status == ActionRequired:
		d.moveToCharging()
	case r.Status.IsIntermediate() && a.Status == Charging:
		d.move(Process, nil)
	case !a.Status.IsIntermediate() || a.Status == r.Status:
		d.move(Await, nil)
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

// OnDue decides what to do with a record at its due instant. early is true if that instant has not come yet, as after a
// restart. If decided is true, the result is the decision d; else it is the question ask for the provider. request is the id
// for an operation that the decision may begin.
func (c DecisionContext) OnDue(r *Record, early bool, request ledger.ID) (ask Ask, d Decision, decided bool) {
	now := ledger.MicrosOf(c.Now)
	switch {
	case r.Op != nil && r.Op.Kind != OpComplete:
		return AskInquireOp, Decision{}, false
	case r.AwaitsPayer() && !early:
		d = newDecision(r)
		d.move(Expire, nil)
		d.MustRecord = true
		d.end(Failure{Code: PayerActionExpired})
		return AskNothing, d, true
	case r.Status == ActionRequired && now >= r.Action.Until:
		return AskNothing, c.lapse(r, request, PayerActionExpired), true
	case r.Status.Held() && now >= r.HoldUntil:
		return AskNothing, c.lapse(r, request, HoldExpired), true
	case r.Status.Held() && c.Due < r.HoldUntil: // an earlier void failed
		return AskInquire, Decision{}, false
	case r.LateSettlement:
		d, decided = c.DecideSuspenseRefund(r, request)
		return AskNothing, d, decided
	case r.Status == Authorizing, r.Status == ActionRequired, r.Status.AtProvider():
		return AskInquire, Decision{}, false
	}
	return AskNothing, Decision{}, false
}

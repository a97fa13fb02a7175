package payment

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
)

// This file decides on operations that follow the submission of a charge. These are refund, capture, void and continuation.

// Refund returns the decision on a request to return settled money. It is the given amount, or all that is left if amount is
// nil. The error is a *ledger.Refusal: NotReversible if nothing settled, InvalidRefundAmount for more than is left, Conflict
// while another operation is under way.
func (c DecisionContext) Refund(r *Record, amount *money.Amount, request ledger.ID) (Decision, error) {
	const op = "payment.Refund"
	if r.Type != Payment || r.Status != Charged && r.Status != Refunded && r.Status != Refunding {
		return Decision{}, ledger.Refuse(op, ledger.NotReversible, "only a settled payment can be refunded")
	}
	if r.Op != nil {
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "another refund is under way")
	}
	remaining := must(r.Settled().Sub(r.Refunded))
	requested := amountOf(amount, remaining)
	if requested.IsZero() || remaining.Less(requested) {
		return Decision{}, ledger.Refuse(op, ledger.InvalidRefundAmount, "%v is left to refund", remaining)
	}
	if !r.hasRoomForRefund(requested == remaining) {
		return Decision{}, ledger.Refuse(op, ledger.InvalidRefundAmount, "a transaction keeps %d refunds, and this is the last: it has to return all that is left, %v", MaxRefunds, remaining)
	}
	d := newDecision(r)
	d.Record.Op = &Op{Kind: OpRefund, ID: request, Amount: requested, From: r.Status}
	d.Record.Op.RefundedFee = must(r.refundedFee(plus(r.Refunded, requested)).Sub(r.RefundedFee))
	d.Record.addRefund(c)
	f := d.Record.refundFlow()
	d.move(Refund, &ledger.Entry{Phase: ledger.Pending, Postings: r.refundPostings(f, false)})
	d.Counters = d.Record.refundHeadroom(c.Org, f, false)
	c.submitOp(&d)
	return d, nil
}

// refundHeadroom returns the guards that reserve headroom for the amounts that a refund adds to account totals. If release
// is true, the guards release that headroom instead, because the provider refused the refund.
func (r *Record) refundHeadroom(org ledger.ID, f flow, release bool) []ledger.CounterGuard {
	guard := ledger.Headroom
	if release {
		guard = ledger.ReleaseHeadroom
	}
	guards := []ledger.CounterGuard{guard(org, r.Asset, plus(f.provider, f.fees))}
	if !r.Rate.IsZero() && !f.dest.IsZero() {
		guards = append(guards, guard(org, r.SettlementAsset, f.dest.Abs))
	}
	return guards
}

// Cancel returns the decision on a request to void a charge that has not settled. The error is a *ledger.Refusal:
// NotReversible if the charge never reached a provider, has settled or is closed, Conflict while another operation is under
// way.
func (c DecisionContext) Cancel(r *Record, request ledger.ID) (Decision, error) {
	const op = "payment.Cancel"
	if r.Status != ActionRequired && !r.Status.AtProvider() && !r.Status.Held() {
		return Decision{}, ledger.Refuse(op, ledger.NotReversible, "there is nothing at a provider that can be given up")
	}
	if r.Op != nil {
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "another operation is under way")
	}
	return c.void(r, Cancel, CancelledByCaller, request), nil
}

// lapse returns the decision to void a charge that has waited too long.
func (c DecisionContext) lapse(r *Record, request ledger.ID, why Code) Decision {
	d := c.void(r, Lapse, why, request)
	d.MustRecord = true // a timer causes this decision, so nobody could receive a refusal
	return d
}

// void returns the decision with the intent to void a charge. The event e and the code why give the reason.
func (c DecisionContext) void(r *Record, e Event, why Code, request ledger.ID) Decision {
	d := newDecision(r)
	d.Record.Op = &Op{Kind: OpVoid, ID: request, Why: why, From: r.Status}
	d.Record.GivenUp = r.Hosted
	d.move(e, nil)
	c.submitOp(&d)
	return d
}

// Commit returns the decision on a request to capture held money. It is the given amount, or all that is held if amount is
// nil. The error is a *ledger.Refusal: Conflict if nothing is held or while another operation is under way,
// InvalidCaptureAmount for more than is held.
func (c DecisionContext) Commit(r *Record, amount *money.Amount, request ledger.ID) (Decision, error) {
	const op = "payment.Commit"
	if !r.Status.Held() {
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "nothing is held")
	}
	if r.Op != nil {
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "another operation is under way")
	}
	requested := amountOf(amount, r.Amount)
	if requested.IsZero() || r.Amount.Less(requested) {
		return Decision{}, ledger.Refuse(op, ledger.InvalidCaptureAmount, "%v is held", r.Amount)
	}
	priced := *r
	if code := priced.price(requested); code != "" {
		return Decision{}, ledger.Refuse(op, ledger.InvalidCaptureAmount, "%s", Failure{Code: code}.Describe("en"))
	}
	d := newDecision(r)
	d.Record.Op = &Op{Kind: OpCapture, ID: request, Amount: requested, From: r.Status}
	d.Record.LastCommit = requested
	d.move(Commit, nil)
	c.submitOp(&d)
	return d, nil
}

// AgreedTotalField is the field that a refusal names if the total is higher than the total to which the payer has agreed.
const AgreedTotalField = "agreed_total"

// MaterialField is the field of a request with the material that the payer submits.
const MaterialField = "additional_params_for_auth"

// Complete returns the decision to continue a charge whose payer has come back from the rail. The error is a Conflict if the
// charge does not wait for its payer.
func (c DecisionContext) Complete(r *Record, request ledger.ID) (Decision, error) {
	if r.Status != ActionRequired && !r.Status.AtProvider() || r.Op != nil {
		return Decision{}, ledger.Refuse("payment.Complete", ledger.Conflict, "the transaction does not wait for its payer")
	}
	return c.complete(r, request), nil
}

// Submit returns the decision to pass the payer's material to the rail. The function has tells whether the material has a
// member with the given name and a text that is not blank. The error is a *ledger.Refusal: Expired after the payer's time or
// the material's deadline, Conflict if the charge waits for no material, Invalid for material that lacks a required member.
func (c DecisionContext) Submit(r *Record, has func(name string) bool, request ledger.ID) (Decision, error) {
	const op = "payment.Submit"
	now := ledger.MicrosOf(c.Now)
	switch {
	case r.payersTimeIsOver(now):
		return Decision{}, tooLate(op)
	case r.Status != ActionRequired || r.Op != nil:
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "the transaction does not wait for its payer")
	case !r.Action.wantsMaterial():
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "the transaction waits for something else")
	case r.Action.Stale(now):
		return Decision{}, ledger.Refuse(op, ledger.Expired, "the material came after expires_at: read the transaction, which shows fresh material, and start again")
	}
	for _, name := range r.Action.Requires {
		if !has(name) {
			return Decision{}, ledger.RefuseField(op, MaterialField+"."+name, "%s is required, a text that is not empty", name)
		}
	}
	return c.complete(r, request), nil
}

// payersTimeIsOver tells whether the payer's time to act is over. It stays true while the charge is voided at the provider
// and afterwards.
func (r *Record) payersTimeIsOver(now ledger.Micros) bool {
	if r.Status == ActionRequired {
		return now >= r.Action.Until
	}
	return r.Status == Rejected && r.Failure.Code == PayerActionExpired
}

func tooLate(op string) *ledger.Refusal {
	return ledger.Refuse(op, ledger.Expired, "the payer's time is over")
}

// ActionIsStale tells whether the payer's action has expired, so that the rail has to publish it again before it is shown. An
// action expires at the deadline for its material. If onPage is true, because the action is shown on the hosted page, it also
// expires when the rail's own page does. After the payer's time the result is false.
func (r *Record) ActionIsStale(now ledger.Micros, onPage bool) bool {
	return r.Status == ActionRequired && r.Op == nil && now < r.Action.Until && r.Action.isStaleFor(now, onPage)
}

// complete returns the decision with the intent to tell the provider that the payer has acted.
func (c DecisionContext) complete(r *Record, request ledger.ID) Decision {
	d := newDecision(r)
	d.Record.Op = &Op{Kind: OpComplete, ID: request, From: r.Status}
	d.move(Submit, nil)
	c.submitOp(&d)
	return d
}

// Choose returns the decision to continue a payout with the receiving institution that the payer chose. The choice is stored
// until the provider has received it. The error is a *ledger.Refusal: Expired after the payer's time, Conflict if the payout
// waits for no choice, Invalid for an institution that is not offered.
func (c DecisionContext) Choose(r *Record, id string, request ledger.ID) (Decision, error) {
	const op = "payment.Choose"
	waiting, offered := r.Destination(id)
	switch {
	case r.payersTimeIsOver(ledger.MicrosOf(c.Now)):
		return Decision{}, tooLate(op)
	case !waiting || r.Op != nil:
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "the transaction does not wait for a receiving institution")
	case !offered:
		return Decision{}, ledger.RefuseField(op, "target_bank_id", "is none of availble_destinations")
	}
	d := c.complete(r, request)
	d.Record.Op.Choice = id
	return d, nil
}

// Destination tells whether a payout waits for the choice of a receiving institution, and whether the institution with this
// id is offered.
func (r *Record) Destination(id string) (waiting, offered bool) {
	if r.Status != ActionRequired || r.Action == nil || r.Action.Destinations == nil {
		return false, false
	}
	for _, d := range r.Action.Destinations {
		if d.ID == id {
			return true, true
		}
	}
	return true, false
}

// waitsUntil returns the end of the payer's time or of the hold. It returns 0 if the charge waits neither for the payer
// nor for a commit.
func (r *Record) waitsUntil() ledger.Micros {
	switch {
	case r.Status == ActionRequired:
		return r.Action.Until
	case r.Status.Held():
		return r.HoldUntil
	}
	return 0
}

// dueWhileWaiting returns the due instant of a charge that waits for its payer or for a commit. It is the end of the payer's
// time or of the hold. If the rail asks for an earlier inquiry or did not answer, it is the instant of that inquiry. For a
// charge that does not wait, or no longer, it is the instant of the next inquiry.
func (c DecisionContext) dueWhileWaiting(r *Record, a Answer) ledger.Micros {
	switch end := r.waitsUntil(); {
	case end <= ledger.MicrosOf(c.Now):
		return c.nextInquiry(&r.Inquiries, a)
	case a.NextInquiryIn > 0, a.Verdict == VerdictUnknown, a.Verdict == VerdictNotFound:
		return min(end, c.nextInquiry(&r.Inquiries, a))
	default:
		return end
	}
}

// submitOp adds to the decision that the record's operation is submitted to the provider.
func (c DecisionContext) submitOp(d *Decision) {
	d.Due = c.fromNow(c.InquiryTimeout)
	d.Ask = AskOp
}

// OperationAmount returns the amount that the provider has to capture or return in the operation under way, and the asset of
// this amount.
func (r *Record) OperationAmount() (money.Amount, money.Asset) {
	switch r.Op.Kind {
	case OpCapture:
		priced := *r
		assertPriced(priced.price(r.Op.Amount))
		if r.Type == Payout {
			return priced.DestAmount, r.DestAsset()
		}
		return priced.AmountWithFee, r.Asset
	case OpRefund:
		if r.Op.Late {
			return r.AmountWithFee, r.Asset
		}
		return r.refundFlow().provider, r.Asset
	}
	return money.Amount{}, r.Asset
}

// DecideOpAnswer returns the decision on a provider's answer about an operation. request is the operation's id. ok is false
// if that operation is not under way.
func (c DecisionContext) DecideOpAnswer(r *Record, request ledger.ID, a Answer) (d Decision, ok bool) {
	if r.Op == nil || r.Op.ID != request || r.Op.Kind == OpComplete {
		return Decision{}, false
	}
	d = newDecision(r)
	d.MustRecord = true
	o := *r.Op
	d.Record.Op = &o
	if a.Meta != nil {
		d.Record.RailMeta = a.Meta
	}
	if o.Kind == OpCapture && a.RRN != "" {
		d.Record.RRN = a.RRN
	}
	if o.Answered && a.Verdict == VerdictNotSent {
		a.Verdict = VerdictUnknown // the operation was sent before; only an inquiry was not sent
	}
	switch a.Verdict {
	case VerdictCharged:
		if o.Kind == OpCapture {
			d.Record.keepToken(a)
		}
		c.onDone(&d)
	case VerdictRefused, VerdictFailed, VerdictNotSent:
		c.onNotDone(&d, a.Failure)
	case VerdictNotFound:
		c.onOpNotFound(&d)
	default:
		c.onNoOutcome(&d, a)
	}
	return d, true
}

// onOpNotFound decides on the answer that the operation never arrived. The second such answer in a row comes one provider
// time-out after the first. Then the operation is submitted once more with the same id. This is possible because an
// operation, unlike a charge, needs none of the payer's credentials, which are not stored. If the second submission does not
// arrive either, the operation has failed.
func (c DecisionContext) onOpNotFound(d *Decision) {
	const resubmitAt, giveUpAt = 2, 4
	o := d.Record.Op
	o.Answered = true
	o.NotFoundAnswers++
	if o.NotFoundAnswers == giveUpAt {
		c.onNotDone(d, Failure{Code: Interrupted})
		return
	}
	d.awaitOutcome()
	d.Due = c.fromNow(c.InquiryTimeout)
	if o.NotFoundAnswers == resubmitAt {
		d.Ask = AskOp
	}
}

// onNoOutcome records that the operation has no outcome yet.
func (c DecisionContext) onNoOutcome(d *Decision, a Answer) {
	o := d.Record.Op
	o.Answered = true
	if a.Verdict == VerdictPending {
		o.NotFoundAnswers = 0
	}
	d.awaitOutcome()
	d.Due = c.nextInquiry(&o.Inquiries, a)
}

// awaitOutcome records that the operation has no outcome yet. A refund moves the record to Refunding. If the record stayed
// in Charged, which is a final status, readers would conclude that no refund is under way.
func (d *Decision) awaitOutcome() {
	r := d.Record
	if r.Op.Kind == OpRefund && !r.Op.Late && r.Status != Refunding {
		r.delayRefund()
		d.move(RefundPending, nil)
		return
	}
	d.move(Await, nil)
}

// onDone books an operation that the provider has carried out.
func (c DecisionContext) onDone(d *Decision) {
	switch r, o := d.Record, d.Record.Op; {
	case o.Kind == OpCapture:
		heldPostings, original := r.holdEntry().Postings, *r
		assertPriced(r.price(o.Amount))
		d.Counters = r.releaseSurplus(&original, c.Org)
		r.Captured = o.Amount
		d.Counters = r.settleVolumes(c.Org, c.counterSlice(d.Counters))
		d.move(Capture, r.captureEntry(heldPostings))
		d.end(Failure{})
	case o.Kind == OpVoid:
		event := Void
		if o.Why == PayerActionExpired {
			event = Expire
		}
		d.move(event, r.releaseEntry())
		d.giveUp(c, Failure{Code: o.Why})
	case o.Late:
		d.move(SuspenseRefunded, r.suspenseEntry(ledger.Credit))
		r.endRefund(c, RefundSucceeded, Failure{})
		r.Op = nil
	default:
		f := r.refundFlow()
		d.move(RefundDone, &ledger.Entry{Phase: ledger.Capture, Postings: r.refundPostings(f, true), Released: r.refundPostings(f, false)})
		r.Refunded, r.RefundedFee = plus(r.Refunded, o.Amount), plus(r.RefundedFee, o.RefundedFee)
		r.endRefund(c, RefundSucceeded, Failure{})
		r.Op = nil
	}
}

// onNotDone ends an operation that the provider did not carry out.
func (c DecisionContext) onNotDone(d *Decision, why Failure) {
	switch r, o := d.Record, d.Record.Op; {
	case o.Kind == OpCapture:
		d.move(CommitRefused, nil)
		r.Failure, r.Op = why.orCode(ProcessingError), nil
		d.Due = r.HoldUntil
	case o.Kind == OpVoid:
		// The charge's status at the provider explains why the void failed. So the provider is asked for it now, and again
		// later.
		d.move(VoidFailed, nil)
		r.Op = nil
		d.Due = c.dueWhileWaiting(r, Answer{Verdict: VerdictUnknown})
		d.Ask = AskInquire
	case o.Late:
		d.move(GiveBackFailed, nil)
		r.endRefund(c, RefundFailed, why.asRefundFailure())
		r.Op = nil
	default:
		f := r.refundFlow()
		event := RefundRefused
		if !r.Refunded.IsZero() {
			event = RepeatRefundRefused
		}
		d.move(event, &ledger.Entry{Phase: ledger.Void, Postings: r.refundPostings(f, false)})
		d.Counters = r.refundHeadroom(c.Org, f, true)
		r.endRefund(c, RefundFailed, why.asRefundFailure())
		r.Op = nil
	}
}

// assertPriced asserts that the method price has accepted an amount. It had accepted the amount before.
func assertPriced(refused Code) { assert.That(refused == "", "payment: %s", refused) }

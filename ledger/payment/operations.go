package payment

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
)

// This file decides on the operations that can follow the submission of a charge: refund, capture, void and continuation.

// Refund returns the decision on a request to return settled money. If amount is nil, all money that is left is returned.
// The error is a *ledger.Refusal: NotReversible if the transaction is not a settled payment, InvalidRefundAmount if the
// amount is zero, more than is left, or not allowed for the last possible refund, and Conflict while another operation is
// under way.
func (c DecisionContext) Refund(r *Record, amount *money.Amount, request ledger.ID) (Decision, error) {
	const op = "payment.Refund"
	if r.Type != Payment || r.Status != Charged && r.Status != Refunded && r.Status != Refunding {
		return Decision{}, ledger.Refuse(op, ledger.NotReversible, "only a settled payment can be refunded")
	}
	if r.Op != nil {
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "another refund is under way")
	}
	remaining := must(r.SettledAmount().Sub(r.RefundedAmount))
	requested := amountOf(amount, remaining)
	if requested.IsZero() || remaining.Less(requested) {
		return Decision{}, ledger.Refuse(op, ledger.InvalidRefundAmount, "%v is left to refund", remaining)
	}
	if !r.hasRoomForRefund(requested == remaining) {
		return Decision{}, ledger.Refuse(op, ledger.InvalidRefundAmount, "a transaction keeps %d refunds, and this is the last: it has to return all that is left, %v", MaxRefunds, remaining)
	}
	d := newDecision(r)
	d.Record.Op = &Op{Kind: OpRefund, ID: request, Amount: requested, From: r.Status}
	d.Record.Op.RefundedFee = must(r.refundedFee(plus(r.RefundedAmount, requested)).Sub(r.RefundedFee))
	d.Record.addRefund(c)
	f := d.Record.refundFlow()
	d.move(Refund, &ledger.Entry{Phase: ledger.Pending, Postings: r.refundPostings(f, false)})
	d.Counters = d.Record.refundHeadroom(c.Org, f, false)
	c.submitOp(&d)
	return d, nil
}

// refundHeadroom returns the guards that reserve headroom for the amounts that a refund adds to account totals. After the
// provider has refused the refund, it is called with release true; then the guards release the headroom.
func (r *Record) refundHeadroom(org ledger.ID, f moneyFlow, release bool) []ledger.CounterGuard {
	guard := ledger.ReserveHeadroom
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
// NotReversible if the charge has not reached a provider, has settled or is closed, and Conflict while another operation
// is under way.
func (c DecisionContext) Cancel(r *Record, request ledger.ID) (Decision, error) {
	const op = "payment.Cancel"
	if r.Status != ActionRequired && !r.Status.AtProvider() && !r.Status.IsHeld() {
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
	d.MustRecord = true // a timer causes this decision, so there is no caller who could receive a refusal
	return d
}

// void returns a decision that records the intent to void a charge. The event e tells who or what caused the void. If the
// void succeeds, why becomes the transaction's failure code.
func (c DecisionContext) void(r *Record, e Event, why Code, request ledger.ID) Decision {
	d := newDecision(r)
	d.Record.Op = &Op{Kind: OpVoid, ID: request, Why: why, From: r.Status}
	d.Record.VoidRequested = r.Hosted
	d.move(e, nil)
	c.submitOp(&d)
	return d
}

// RequestCapture returns the decision on a request to capture held money. If amount is nil, all held money is captured. The error
// is a *ledger.Refusal: Conflict if nothing is held or another operation is under way, and InvalidCaptureAmount if the
// amount is zero, more than is held, or impossible with the terminal's fees.
func (c DecisionContext) RequestCapture(r *Record, amount *money.Amount, request ledger.ID) (Decision, error) {
	const op = "payment.RequestCapture"
	if !r.Status.IsHeld() {
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

// AgreedTotalField is the field to which a refusal refers if the total is higher than the payer has agreed to.
const AgreedTotalField = "agreed_total"

// MaterialField is the request field in which the payer submits the material of Action.Material.
const MaterialField = "additional_params_for_auth"

// Complete returns the decision to continue a charge after its payer has come back from the rail. If the charge does not
// wait for its payer, the error is a *ledger.Refusal with Conflict.
func (c DecisionContext) Complete(r *Record, request ledger.ID) (Decision, error) {
	if r.Status != ActionRequired && !r.Status.AtProvider() || r.Op != nil {
		return Decision{}, ledger.Refuse("payment.Complete", ledger.Conflict, "the transaction does not wait for its payer")
	}
	return c.complete(r, request), nil
}

// Submit returns the decision to pass the payer's material to the rail. The function has(name) tells whether the material
// has a member of that name whose text is not blank. The error is a *ledger.Refusal: Expired if the deadline of the payer
// or of the material has passed, Conflict if the charge does not wait for material, and Invalid if the material lacks a
// required member.
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
	case r.Action.IsStale(now):
		return Decision{}, ledger.Refuse(op, ledger.Expired, "the material came after expires_at: read the transaction, which shows fresh material, and start again")
	}
	for _, name := range r.Action.Requires {
		if !has(name) {
			return Decision{}, ledger.RefuseField(op, MaterialField+"."+name, "%s is required, a text that is not empty", name)
		}
	}
	return c.complete(r, request), nil
}

// payersTimeIsOver tells whether the payer's deadline has passed. The result stays true during and after the void of the
// charge at the provider.
func (r *Record) payersTimeIsOver(now ledger.Micros) bool {
	if r.Status == ActionRequired {
		return now >= r.Action.Until
	}
	return r.Status == Rejected && r.Failure.Code == PayerActionExpired
}

func tooLate(op string) *ledger.Refusal {
	return ledger.Refuse(op, ledger.Expired, "the payer's time is over")
}

// ActionIsStale tells whether the payer's action has expired, so that the rail has to publish it again before anybody
// sees it. An action expires at the deadline for its material. onPage is true if the hosted page shows the action; such
// an action also expires when the rail's own page expires. Once the payer's deadline has passed, the result is false.
func (r *Record) ActionIsStale(now ledger.Micros, onPage bool) bool {
	return r.Status == ActionRequired && r.Op == nil && now < r.Action.Until && r.Action.isStaleFor(now, onPage)
}

// complete returns a decision that records the intent to tell the provider that the payer has acted.
func (c DecisionContext) complete(r *Record, request ledger.ID) Decision {
	d := newDecision(r)
	d.Record.Op = &Op{Kind: OpComplete, ID: request, From: r.Status}
	d.move(Submit, nil)
	c.submitOp(&d)
	return d
}

// Choose returns the decision to continue a payout with the receiving institution that the payer chose. The choice is
// stored until the provider has received it. The error is a *ledger.Refusal: Expired if the payer's deadline has passed,
// Conflict if the payout does not wait for a choice, and Invalid if the institution is not offered.
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

// waitsUntil returns the payer's deadline if the charge waits for its payer, the end of the hold if it waits for a
// commit, and 0 if it waits for neither.
func (r *Record) waitsUntil() ledger.Micros {
	switch {
	case r.Status == ActionRequired:
		return r.Action.Until
	case r.Status.IsHeld():
		return r.HoldUntil
	}
	return 0
}

// dueWhileWaiting returns the next due instant of a charge. If the charge waits for its payer or for a commit, it is due
// when that wait ends, or at the next inquiry if the rail asks for an earlier one or did not answer. If the charge does
// not wait, or its wait has ended, it is due at the next inquiry.
func (c DecisionContext) dueWhileWaiting(r *Record, a ProviderAnswer) ledger.Micros {
	switch end := r.waitsUntil(); {
	case end <= ledger.MicrosOf(c.Now):
		return c.nextInquiry(&r.Inquiries, a)
	case a.NextInquiryIn > 0, a.Verdict == VerdictUnknown, a.Verdict == VerdictNotFound:
		return min(end, c.nextInquiry(&r.Inquiries, a))
	default:
		return end
	}
}

// submitOp makes the decision submit the record's operation to the provider.
func (c DecisionContext) submitOp(d *Decision) {
	d.Due = c.fromNow(c.InquiryTimeout)
	d.ProviderRequest = SubmitOperation
}

// OperationAmount returns the amount and the asset that the provider has to capture or return in the operation under way.
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
		if r.Op.FromSuspense {
			return r.AmountWithFee, r.Asset
		}
		return r.refundFlow().provider, r.Asset
	}
	return money.Amount{}, r.Asset
}

// DecideOpAnswer returns the decision on a provider's answer about an operation. request is the operation's id. ok is
// false if no such operation is under way.
func (c DecisionContext) DecideOpAnswer(r *Record, request ledger.ID, a ProviderAnswer) (d Decision, ok bool) {
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
		a.Verdict = VerdictUnknown // the operation was sent earlier, so it is an inquiry that could not be sent
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
		c.onOpNotFound(&d, a)
	default:
		c.onNoOutcome(&d, a)
	}
	return d, true
}

// onOpNotFound decides on the answer that the operation never arrived. After the first such answer, the provider is asked
// again, one provider time-out later. After the second one in a row, the operation is submitted once more with the same
// id. An operation, unlike a charge, can be submitted again because it needs no credentials of the payer; those are not
// stored. If the second submission does not arrive either, the operation has failed. While the submission may still be on its way,
// answers after the first one do not count.
func (c DecisionContext) onOpNotFound(d *Decision, a ProviderAnswer) {
	const resubmitAt, giveUpAt = 2, 4
	o := d.Record.Op
	o.Answered = true
	counts := o.NotFoundAnswers == 0 || !a.MayArrive
	if counts {
		o.NotFoundAnswers++
	}
	if o.NotFoundAnswers == giveUpAt {
		c.onNotDone(d, Failure{Code: Interrupted})
		return
	}
	d.awaitOutcome()
	d.Due = c.fromNow(c.InquiryTimeout)
	if o.NotFoundAnswers == resubmitAt && counts {
		d.ProviderRequest = SubmitOperation
	}
}

// onNoOutcome decides on an answer from which the operation's outcome is not known yet. It sets the instant of the next
// inquiry.
func (c DecisionContext) onNoOutcome(d *Decision, a ProviderAnswer) {
	o := d.Record.Op
	o.Answered = true
	if a.Verdict == VerdictPending {
		o.NotFoundAnswers = 0
	}
	d.awaitOutcome()
	d.Due = c.nextInquiry(&o.Inquiries, a)
}

// awaitOutcome adds the event that the operation's outcome is not known yet. If the operation is a refund, the record
// moves to Refunding. In Charged, which is a final status, it would look as if no refund were under way.
func (d *Decision) awaitOutcome() {
	r := d.Record
	if r.Op.Kind == OpRefund && !r.Op.FromSuspense && r.Status != Refunding {
		r.delayRefund()
		d.move(RefundPending, nil)
		return
	}
	d.move(AwaitOutcome, nil)
}

// onDone ends an operation that the provider has carried out, and books it.
func (c DecisionContext) onDone(d *Decision) {
	switch r, o := d.Record, d.Record.Op; {
	case o.Kind == OpCapture:
		heldPostings, original := r.holdEntry().Postings, *r
		assertPriced(r.price(o.Amount))
		d.Counters = r.releaseSurplus(&original, c.Org)
		r.CapturedAmount = o.Amount
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
	case o.FromSuspense:
		d.move(SuspenseRefunded, r.suspenseEntry(ledger.Credit))
		r.endRefund(c, RefundSucceeded, Failure{})
		r.Op = nil
	default:
		f := r.refundFlow()
		d.move(RefundDone, &ledger.Entry{Phase: ledger.Capture, Postings: r.refundPostings(f, true), Released: r.refundPostings(f, false)})
		r.RefundedAmount, r.RefundedFee = plus(r.RefundedAmount, o.Amount), plus(r.RefundedFee, o.RefundedFee)
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
		// The provider is asked for the status of the charge, now and again later, because the status explains why the
		// void failed.
		d.move(VoidFailed, nil)
		r.Op = nil
		d.Due = c.dueWhileWaiting(r, ProviderAnswer{Verdict: VerdictUnknown})
		d.ProviderRequest = InquireCharge
	case o.FromSuspense:
		d.move(SuspenseRefundFailed, nil)
		r.endRefund(c, RefundFailed, why.asRefundFailure())
		r.Op = nil
	default:
		f := r.refundFlow()
		event := RefundRefused
		if !r.RefundedAmount.IsZero() {
			event = RepeatRefundRefused
		}
		d.move(event, &ledger.Entry{Phase: ledger.Void, Postings: r.refundPostings(f, false)})
		d.Counters = r.refundHeadroom(c.Org, f, true)
		r.endRefund(c, RefundFailed, why.asRefundFailure())
		r.Op = nil
	}
}

// assertPriced asserts that price has accepted an amount, because price accepted the same amount earlier.
func assertPriced(refused Code) { assert.That(refused == "", "payment: %s", refused) }

package payment

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Refund decides on a request to return settled money: amount, or all that is
// left if nil. The error is a *ledger.Refusal: NotReversible for what has not
// settled, InvalidRefundAmount for more than is left, Conflict while another
// operation is under way.
func (c Case) Refund(r *Record, amount *money.Amount, request ledger.ID) (Decision, error) {
	const op = "payment.Refund"
	if r.Type != Payment || r.Status != Charged && r.Status != Refunded && r.Status != Refunding {
		return Decision{}, ledger.Refuse(op, ledger.NotReversible, "only a settled payment can be refunded")
	}
	if r.Op != nil {
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "another refund is under way")
	}
	left := must(r.Settled().Sub(r.Refunded))
	asked := amountOf(amount, left)
	if asked.IsZero() || left.Less(asked) {
		return Decision{}, ledger.Refuse(op, ledger.InvalidRefundAmount, "%v is left to refund", left)
	}
	d := next(r)
	d.Record.Op = &Op{Kind: OpRefund, Request: request, Amount: asked, From: r.Status}
	d.Record.Op.FeeBack = must(r.feeBack(plus(r.Refunded, asked)).Sub(r.FeeBack))
	d.Record.RefundID, d.Record.RefundMsg = request, ""
	f := d.Record.refund()
	d.move(Refund, &ledger.Entry{Phase: ledger.Pending, Postings: r.back(f, false)})
	d.Counters = d.Record.refundHeadroom(c.Org, f, false)
	c.ask(&d)
	return d, nil
}

// refundHeadroom are the guards for what a refund adds to totals; or for what
// it gives back, if it was refused.
func (r *Record) refundHeadroom(org ledger.ID, f flow, giveBack bool) []ledger.CounterGuard {
	guard := ledger.Headroom
	if giveBack {
		guard = ledger.HeadroomBack
	}
	guards := []ledger.CounterGuard{guard(org, r.Asset, plus(f.provider, f.fees))}
	if !r.Rate.IsZero() && !f.dest.IsZero() {
		guards = append(guards, guard(org, r.Settles, f.dest.Abs))
	}
	return guards
}

// Cancel decides on a request to give up a charge that has not settled. The
// error is a *ledger.Refusal: NotReversible for what never reached a provider,
// has settled or is closed, Conflict while another operation is under way.
func (c Case) Cancel(r *Record, request ledger.ID) (Decision, error) {
	const op = "payment.Cancel"
	if r.Status != ActionRequired && !r.Status.Moving() && !r.Status.Held() {
		return Decision{}, ledger.Refuse(op, ledger.NotReversible, "there is nothing at a provider that can be given up")
	}
	if r.Op != nil {
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "another operation is under way")
	}
	return c.void(r, Cancel, ByCaller, request), nil
}

// lapse is the intent to give up what has waited too long.
func (c Case) lapse(r *Record, request ledger.ID, why string) Decision {
	d := c.void(r, Lapse, why, request)
	d.Outcome = true // nobody is there to be refused
	return d
}

func (c Case) void(r *Record, e Event, why string, request ledger.ID) Decision {
	d := next(r)
	d.Record.Op = &Op{Kind: OpVoid, Request: request, Why: why, From: r.Status}
	d.move(e, nil)
	c.ask(&d)
	return d
}

// Commit decides on a request to capture what is held: amount, or all of it if
// nil. The error is a *ledger.Refusal: Conflict for what is not held or while
// another operation is under way, InvalidCaptureAmount for more than is held.
func (c Case) Commit(r *Record, amount *money.Amount, request ledger.ID) (Decision, error) {
	const op = "payment.Commit"
	if !r.Status.Held() {
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "nothing is held")
	}
	if r.Op != nil {
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "another operation is under way")
	}
	asked := amountOf(amount, r.Amount)
	if asked.IsZero() || r.Amount.Less(asked) {
		return Decision{}, ledger.Refuse(op, ledger.InvalidCaptureAmount, "%v is held", r.Amount)
	}
	priced := *r
	if reason := priced.price(asked); reason != "" {
		return Decision{}, ledger.Refuse(op, ledger.InvalidCaptureAmount, "%s", reason)
	}
	d := next(r)
	d.Record.Op = &Op{Kind: OpCapture, Request: request, Amount: asked, From: r.Status}
	d.Record.LastCommit = asked
	d.move(Commit, nil)
	c.ask(&d)
	return d, nil
}

// Complete decides to go on with a charge whose payer has acted, or whose side
// has submitted what the rail wants. The error is a *ledger.Refusal: Conflict
// for what waits for nobody, Expired after the material's deadline.
func (c Case) Complete(r *Record, material bool, request ledger.ID) (Decision, error) {
	const op = "payment.Complete"
	if r.Status != ActionRequired && !(r.Status.Moving() && !material) || r.Op != nil {
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "the transaction does not wait for its payer")
	}
	if material && !r.Action.wantsMaterial() {
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "the transaction waits for something else")
	}
	if material && r.Action.ExpiresAt != 0 && ledger.MicrosOf(c.Now) > r.Action.ExpiresAt {
		return Decision{}, ledger.Refuse(op, ledger.Expired, "the material came after expires_at: ask for a fresh one and start again")
	}
	return c.complete(r, request), nil
}

// wantsMaterial tells whether something may be submitted: the rail asks for it,
// or what it asks for was lost with the answer that said so.
func (a *Action) wantsMaterial() bool {
	return a.Material != nil || a.Type == "" && a.URL == "" && a.Page == "" && a.Destinations == nil
}

func (c Case) complete(r *Record, request ledger.ID) Decision {
	d := next(r)
	d.Record.Op = &Op{Kind: OpComplete, Request: request, From: r.Status}
	d.move(Submit, nil)
	c.ask(&d)
	return d
}

// Choose decides to go on with a payout to the receiving institution that was
// chosen: one that Destination says is offered. The choice is kept until the
// provider has it. The error is a Conflict while another operation is under way.
func (c Case) Choose(r *Record, id string, request ledger.ID) (Decision, error) {
	if r.Status != ActionRequired || r.Op != nil {
		return Decision{}, ledger.Refuse("payment.Choose", ledger.Conflict, "the transaction does not wait for a receiving institution")
	}
	d := c.complete(r, request)
	d.Record.Op.Choice = id
	return d, nil
}

// Destination tells whether a payout waits for the choice of a receiving
// institution, and whether id is one of those offered.
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

// over is when the payer's time or the hold is over; 0: there is neither.
func (r *Record) over() ledger.Micros {
	switch {
	case r.Status == ActionRequired:
		return r.Action.Until
	case r.Status.Held():
		return r.HoldUntil
	}
	return 0
}

// wait is when a charge wants to be woken that nobody works at: when its payer's
// time or its hold is over, sooner if its rail says so or could not be heard.
// What is past that, or is at the rail, is asked later and later.
func (c Case) wait(r *Record, a Answer) ledger.Micros {
	switch over := r.over(); {
	case over <= ledger.MicrosOf(c.Now):
		return c.again(&r.Inquiries, a)
	case a.Again > 0, a.Verdict == SaidNothing, a.Verdict == SaidNotKnown:
		return min(over, c.again(&r.Inquiries, a))
	default:
		return over
	}
}

// ask puts the record's operation to the provider.
func (c Case) ask(d *Decision) {
	d.Due = c.after(c.Inquire)
	d.Ask = AskOp
}

// Asked is the amount that the provider is to capture or return with the
// operation under way, and what it is an amount of.
func (r *Record) Asked() (money.Amount, money.Asset) {
	switch r.Op.Kind {
	case OpCapture:
		priced := *r
		reason := priced.price(r.Op.Amount)
		assertPriced(reason)
		if r.Type == Payout {
			return priced.Dest, r.DestAsset()
		}
		return priced.WithFee, r.Asset
	case OpRefund:
		if r.Op.Late {
			return r.WithFee, r.Asset
		}
		return r.refund().provider, r.Asset
	}
	return money.Amount{}, r.Asset
}

// OpAnswered decides on a provider's answer about the operation named request.
// ok is false if that is not under way.
func (c Case) OpAnswered(r *Record, request ledger.ID, a Answer) (d Decision, ok bool) {
	if r.Op == nil || r.Op.Request != request || r.Op.Kind == OpComplete {
		return Decision{}, false
	}
	d = next(r)
	d.Outcome = true
	o := *r.Op
	d.Record.Op = &o
	if a.Meta != nil {
		d.Record.RailMeta = a.Meta
	}
	if o.Kind == OpCapture && a.RRN != "" {
		d.Record.RRN = a.RRN
	}
	if o.Heard && a.Verdict == SaidNotSent {
		a.Verdict = SaidNothing // an inquiry that never left
	}
	switch a.Verdict {
	case SaidCharged:
		if o.Kind == OpCapture {
			d.Record.remember(a)
		}
		c.done(&d)
	case SaidRefused, SaidFailed, SaidNotSent:
		c.notDone(&d, a.Reason)
	case SaidNotKnown:
		c.opUnheard(&d)
	default:
		c.stillAsked(&d, a)
	}
	return d, true
}

// opUnheard decides on "never arrived". The second in a row, a provider time-out
// apart, has the operation submitted once more, under the same name: unlike a
// charge it needs nothing that is gone, and the intent was promised. If that is
// not heard of either it is not done.
func (c Case) opUnheard(d *Decision) {
	const resent, given = 2, 4
	o := d.Record.Op
	o.Heard = true
	o.Unheard++
	if o.Unheard == given {
		c.notDone(d, Interrupted)
		return
	}
	d.move(Await, nil)
	d.Due = c.after(c.Inquire)
	if o.Unheard == resent {
		d.Ask = AskOp
	}
}

// stillAsked notes that the operation is at the provider and says no more.
func (c Case) stillAsked(d *Decision, a Answer) {
	r, o := d.Record, d.Record.Op
	o.Heard = true
	if a.Verdict == SaidPending {
		o.Unheard = 0
	}
	if o.Kind == OpRefund && !o.Late && a.Verdict == SaidPending && r.Status != Refunding {
		r.RefundMsg = MsgRefundPending
		d.move(RefundPending, nil)
	} else {
		d.move(Await, nil)
	}
	d.Due = c.again(&o.Inquiries, a)
}

// done is an operation that the provider carried out.
func (c Case) done(d *Decision) {
	switch r, o := d.Record, d.Record.Op; {
	case o.Kind == OpCapture:
		held, whole := r.hold().Postings, *r
		assertPriced(r.price(o.Amount))
		d.Counters = r.freed(&whole, c.Org)
		r.Captured = o.Amount
		d.Counters = r.counted(c.Org, c.room(d.Counters))
		d.move(Capture, r.capture(held))
		d.end("")
	case o.Kind == OpVoid:
		event := Void
		if o.Why == ActionExpired {
			event = Expire
		}
		d.move(event, r.release())
		d.giveUp(c, o.Why)
	case o.Late:
		d.move(GaveBack, r.suspense(ledger.Credit))
		r.RefundMsg, r.Op = MsgRefunded, nil
	default:
		f := r.refund()
		d.move(RefundDone, &ledger.Entry{Phase: ledger.Capture, Postings: r.back(f, true), Released: r.back(f, false)})
		r.Refunded, r.FeeBack = plus(r.Refunded, o.Amount), plus(r.FeeBack, o.FeeBack)
		r.RefundMsg = MsgRefunded
		r.Op = nil
	}
}

// notDone is an operation that the provider did not carry out.
func (c Case) notDone(d *Decision, reason string) {
	switch r, o := d.Record, d.Record.Op; {
	case o.Kind == OpCapture:
		d.move(CommitRefused, nil)
		r.Error, r.Op = reason, nil
		d.Due = r.HoldUntil
	case o.Kind == OpVoid:
		// How the charge stands says why: it is asked at once, and again later.
		d.move(VoidFailed, nil)
		r.Op = nil
		d.Due = c.wait(r, Answer{Verdict: SaidNothing})
		d.Ask = AskInquire
	case o.Late:
		d.move(GiveBackFailed, nil)
		r.RefundMsg, r.Op = reason, nil
	default:
		f := r.refund()
		event := RefundRefused
		if !r.Refunded.IsZero() {
			event = FurtherRefundRefused
		}
		d.move(event, &ledger.Entry{Phase: ledger.Void, Postings: r.back(f, false)})
		d.Counters = r.refundHeadroom(c.Org, f, true)
		r.RefundMsg, r.Op = reason, nil
	}
}

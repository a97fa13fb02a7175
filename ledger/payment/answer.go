package payment

import (
	"time"

	"mizan/ledger"
)

// Answer is a provider's answer to a submission or an inquiry.
type Answer struct {
	Verdict  Verdict
	Failure  Failure // for VerdictRefused, VerdictFailed and VerdictNotSent: what the rail says of it
	RRN      string
	Again    time.Duration // when to inquire; 0: after Case.Inquire, longer each time
	Status   Status        // a state of the rail's own that it passes through; empty: none
	Meta     []byte        // the rail's own keys, a JSON object; nil: as they were
	Action   *Action       // for VerdictAction; nil: as it was
	Token    []byte        // for VerdictCharged: of the card that was charged, sealed; nil: none was given
	KeepCard bool          // for VerdictAction: the card is there, and is kept for a later step
	Inquired bool          // it answers an inquiry, not a submission
	Reissued bool          // it answers AskReissue: an Action is the old one, published anew
}

// Answered decides on a provider's answer about the charge. ok is false if it
// says nothing new, or comes while an operation on the charge is under way,
// whose own answer decides.
func (c Case) Answered(r *Record, a Answer) (d Decision, ok bool) {
	if r.Op != nil && r.Op.Kind != OpComplete {
		return Decision{}, false
	}
	switch {
	case r.Status == Rejected, r.Status == Failed:
		return c.late(r, a)
	case r.Status == Authorizing, r.Status == ActionRequired, r.Status.Moving(), r.Status.Held():
	default:
		return Decision{}, false
	}
	d = next(r)
	d.Outcome = true
	if a.Meta != nil {
		d.Record.RailMeta = a.Meta
	}
	if a.Verdict == VerdictNotSent && (r.Status != Authorizing || r.Unheard > 0) {
		a.Verdict = VerdictUnknown // the rail has the charge: only a question about it never left
	}
	switch a.Verdict {
	case VerdictCharged:
		c.settle(&d, a)
	case VerdictHeld:
		ok = c.suspend(&d, a)
		return d, ok
	case VerdictRefused:
		c.declined(&d, a)
	case VerdictFailed, VerdictNotSent:
		c.failed(&d, a)
	case VerdictNotFound:
		return d, c.unheard(&d)
	case VerdictAction:
		if r.Op != nil && r.Op.Choice != "" && a.Inquired {
			return d, c.ready(&d) // what was chosen never arrived
		}
		return d, c.act(&d, a)
	case VerdictReady:
		return d, c.ready(&d)
	default:
		return d, c.pending(&d, a)
	}
	return d, true
}

// SaysNothing tells whether an answer about a charge that the rail has is only
// that it still has it.
func (r *Record) SaysNothing(a Answer) bool {
	return r.Status.Moving() && r.Op == nil && (a.Verdict == VerdictPending || a.Verdict == VerdictUnknown) &&
		(a.Status == "" || a.Status == r.Status)
}

// arrive moves the charge to where the rail has it and the payer's part is over.
func (d *Decision) arrive() {
	switch d.Record.Status {
	case Authorizing:
		d.move(Process, nil)
	case ActionRequired:
		d.move(Submit, nil)
	}
}

func (c Case) settle(d *Decision, a Answer) {
	if !d.Record.Status.Held() {
		d.arrive()
	}
	if a.RRN != "" {
		d.Record.RRN = a.RRN
	}
	d.Record.remember(a)
	entry := d.Record.settlement()
	if r := d.Record; r.Status.Held() {
		// What a commit asked for and was thought lost is what was captured.
		r.Captured = r.Amount
		if !r.LastCommit.IsZero() {
			held := r.hold().Postings
			assertPriced(r.price(r.LastCommit))
			r.Captured = r.LastCommit
			entry = r.capture(held)
		}
	}
	d.Counters = d.Record.counted(c.Org, c.room(d.Counters))
	d.move(Settle, entry)
	d.end(Failure{})
}

// suspend notes that the money is held; false: it is held already.
func (c Case) suspend(d *Decision, a Answer) bool {
	r := d.Record
	if r.Status.Held() {
		return c.unchanged(d, a)
	}
	d.arrive()
	r.Known = true
	if a.RRN != "" {
		r.RRN = a.RRN
	}
	if r.Type == Payout {
		d.move(HoldPayout, nil)
	} else {
		d.move(HoldPayment, r.hold())
	}
	r.Action, r.Op, r.KeepCard = nil, nil, false
	r.HoldUntil = c.after(r.HoldTTL)
	d.Due = r.HoldUntil
	return true
}

func (c Case) declined(d *Decision, a Answer) {
	if d.Record.Status.Held() {
		c.failed(d, a)
		return
	}
	d.move(Decline, d.Record.release())
	d.giveUp(c, a.Failure.as(CardDeclined))
}

func (c Case) failed(d *Decision, a Answer) {
	if !d.Record.Status.Held() && a.Verdict != VerdictNotSent {
		d.arrive()
	}
	d.move(Fail, d.Record.release())
	d.giveUp(c, a.Failure.as(ProcessingError))
}

// unheard decides on "unknown reference": the second in a row, a provider
// time-out apart, means that the call never arrived. What the provider knew
// before it can't have forgotten.
func (c Case) unheard(d *Decision) bool {
	r := d.Record
	if r.Known && (r.Op == nil || r.Op.Heard) {
		return c.unchanged(d, Answer{Verdict: VerdictNotFound})
	}
	if r.Unheard == 0 || r.Known {
		r.Unheard = 1
		if r.Op != nil {
			o := *r.Op
			o.Heard = true
			r.Op = &o
		}
		d.move(Await, nil)
		d.Due = c.after(c.Inquire)
		return true
	}
	if c.resends(d) {
		return true
	}
	d.arrive()
	d.move(Fail, r.release())
	d.giveUp(c, Failure{Code: Interrupted})
	return true
}

// act publishes what the payer has to do; false: it is published already.
func (c Case) act(d *Decision, a Answer) bool {
	r := d.Record
	r.Unheard, r.Known = 0, true
	if r.Status.Held() || r.Status == ActionRequired && (a.Action == nil || a.Reissued && a.Action.ended(ledger.MicrosOf(c.Now), true)) {
		return c.unchanged(d, a)
	}
	r.Inquiries = 0
	waiting := r.Status == ActionRequired
	if r.Status == Authorizing {
		d.move(Process, nil)
	}
	if waiting && a.Reissued {
		d.move(Reissue, nil) // nothing that the merchant does not know
	} else {
		d.move(Act, nil)
	}
	var action Action // empty where it was lost with the answer that had it
	until := c.after(c.ActionTTL)
	if r.Action != nil {
		action = *r.Action
	}
	if r.Action != nil && (a.Action == nil || waiting) {
		until = r.Action.Until // only who has done the one thing gets time for the next
	}
	if a.Action != nil {
		action = *a.Action
	}
	action.Until = until
	r.Action, r.Op = &action, nil
	r.KeepCard = r.KeepCard || a.KeepCard
	d.Due = c.wait(r, a)
	return true
}

// unchanged is an answer that says nothing new: what is still to be woken is
// left alone, and what was woken for it waits again.
func (c Case) unchanged(d *Decision, a Answer) bool {
	if c.Due > ledger.MicrosOf(c.Now) {
		return false
	}
	d.move(Await, nil)
	d.Due = c.wait(d.Record, a)
	return true
}

// ready goes on with a charge whose payer has acted.
func (c Case) ready(d *Decision) bool {
	r := d.Record
	r.Known = true
	if r.Op == nil && r.Status == Authorizing {
		d.arrive() // from here Complete can begin it
		d.Due = c.again(&r.Inquiries, Answer{})
		return true
	}
	if r.Op == nil {
		return c.unchanged(d, Answer{}) // Complete begins it, with a name for the operation
	}
	r.Unheard = 0
	d.move(Await, nil)
	d.Due = c.again(&r.Inquiries, Answer{})
	d.Ask = AskOp
	return true
}

// pending notes that the rail has it and says no more.
func (c Case) pending(d *Decision, a Answer) bool {
	r := d.Record
	if a.Verdict == VerdictPending { // silence says nothing, not even that it arrived
		r.Unheard, r.Known = 0, true
	}
	switch {
	case r.Status.Held(), r.Status == ActionRequired && a.Verdict == VerdictUnknown:
		return c.unchanged(d, a)
	case r.Status == Authorizing, r.Status == ActionRequired:
		d.arrive()
	case r.Status.Passing() && a.Status == Charging:
		d.move(Process, nil)
	case !a.Status.Passing() || a.Status == r.Status:
		d.move(Await, nil)
	}
	if a.Status.Passing() && a.Status != r.Status {
		d.move(passes[a.Status], nil)
	}
	if r.Op != nil && r.Op.Choice != "" && a.Verdict == VerdictUnknown {
		o := *r.Op // nobody knows whether the choice arrived: it may have to be sent again
		o.Heard = true
		r.Op = &o
	} else {
		r.Op = nil
	}
	d.Due = c.again(&r.Inquiries, a)
	return true
}

// Woken decides what a record wants at an instant that it asked for; early says
// that the instant has not come, as after a restart. What it wants is either a
// question or, if decided, a decision; request names an operation that it needs.
func (c Case) Woken(r *Record, early bool, request ledger.ID) (ask Ask, d Decision, decided bool) {
	now := ledger.MicrosOf(c.Now)
	switch {
	case r.Op != nil && r.Op.Kind != OpComplete:
		return AskInquireOp, Decision{}, false
	case r.Waiting() && !early:
		d = next(r)
		d.move(Expire, nil)
		d.Outcome = true
		d.end(Failure{Code: PayerActionExpired})
		return AskNothing, d, true
	case r.Status == ActionRequired && now >= r.Action.Until:
		return AskNothing, c.lapse(r, request, PayerActionExpired), true
	case r.Status.Held() && now >= r.HoldUntil:
		return AskNothing, c.lapse(r, request, HoldExpired), true
	case r.Status.Held() && c.Due < r.HoldUntil: // a void was not granted
		return AskInquire, Decision{}, false
	case r.SettledLate:
		d, decided = c.GiveBack(r, request)
		return AskNothing, d, decided
	case r.Status == Authorizing, r.Status == ActionRequired, r.Status.Moving():
		return AskInquire, Decision{}, false
	}
	return AskNothing, Decision{}, false
}

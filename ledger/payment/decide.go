package payment

import (
	"net/netip"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
)

// DecisionContext is the input of a decision besides the record.
type DecisionContext struct {
	Org            ledger.ID
	Now            time.Time
	Due            ledger.Micros // the record's due instant; 0: none
	InquiryTimeout time.Duration // the provider time-out, after which the provider is asked for the outcome of an unanswered call
	ActionTTL      time.Duration // how long a payer has time to act

	// Room is reusable memory for Decision.Counters. Only a decision with MustRecord uses it, and no two decisions may
	// share it. If it is nil, memory is allocated.
	Room []ledger.CounterGuard
}

// Ask is the question to put to the provider once a decision is durable.
type Ask uint8

// The questions. The zero value asks nothing.
const (
	AskNothing   Ask = iota
	AskSubmit        // submit the charge
	AskInquire       // ask for the outcome of the charge
	AskOp            // submit Record.Op
	AskInquireOp     // ask for the outcome of Record.Op
	AskReissue       // publish the payer's action again
)

// Decision is the effect of a command or an answer on a transaction.
type Decision struct {
	Record     *Record // the next record, never the same pointer as the old one
	Events     []ledger.Event
	Funds      []ledger.FundsGuard
	Counters   []ledger.CounterGuard
	Due        ledger.Micros // when the record is due; 0: never
	IsFinal    bool          // true if the record has reached a final status
	MustRecord bool          // the decision records what has already happened: the writer may not refuse it
	Ask        Ask
	Return     *Decision // creates the return transaction, if Record becomes Reversed

	bounds     []Bound // the volume limits' bounds; their guards begin at Counters[firstBound]
	firstBound int
}

// newDecision begins a decision on a copy of the record.
func newDecision(r *Record) Decision {
	copied := *r
	return Decision{Record: &copied}
}

// Unacceptable returns why a create request is rejected before routing; empty if it is not. A hosted transaction needs
// neither credentials, which its payer enters later, nor return addresses. A renewal needs no return addresses, because
// no payer is present.
func Unacceptable(r *Request, hosted bool) Code {
	switch {
	case !hosted && r.Method == "":
		return UnexpectedCard
	case !hosted && r.Type == Payment && r.Renewal == nil && (r.ReturnURL == "" || r.FailURL == ""):
		return ReturnURLsMissing
	case ledger.MaxAmount.Less(r.Amount):
		return AmountOutOfRange
	}
	return ""
}

// Reject creates a transaction that is rejected at once. attempts lists the terminals that were considered.
func (c DecisionContext) Reject(id ledger.ID, partner int64, r Request, why Failure, attempts ...Attempt) Decision {
	d := Decision{Record: &Record{ID: id, Partner: partner, Request: r, Status: Absent, Attempts: attempts}}
	d.move(Create, nil)
	d.refuse(why)
	return d
}

// refuse ends a transaction that was not sent to a terminal.
func (d *Decision) refuse(why Failure) {
	d.Record.clearPrice()
	d.move(Refuse, nil)
	d.end(why)
}

// Create creates a transaction on a terminal, with the intent (an event that is durable before the call) to
// call the terminal's provider. For a payout it also holds the money.
func (c DecisionContext) Create(id ledger.ID, partner int64, r Request, t *Terms) Decision {
	d := Decision{Record: &Record{ID: id, Partner: partner, Request: r, Status: Absent}}
	d.move(Create, nil)
	c.begin(&d, t)
	return d
}

// Host creates a transaction that waits for its payer on the hosted page.
func (c DecisionContext) Host(id ledger.ID, partner int64, r Request) Decision {
	d := Decision{Record: &Record{ID: id, Partner: partner, Request: r, Status: Absent, Hosted: true}}
	if r.LinkID != (ledger.ID{}) {
		d.Counters = ledger.LinkBegins(c.Org, r.LinkID, r.Asset)
	}
	d.Record.clearPrice()
	d.move(Create, nil)
	d.Due = c.fromNow(c.ActionTTL)
	d.Record.HostedUntil = d.Due
	return d
}

// Credentials is the payment method that a payer enters on the hosted page.
type Credentials struct {
	Method, CardBIN, CardLast4, CardFingerprint string

	Network money.Network // network of the credentials; empty: they name none

	AgreedTotal money.Amount // as Request.AgreedTotal

	PayerIP   netip.Addr    // source of the credentials; zero: unknown
	Attempted ledger.Micros // as Request.Attempted
}

// AwaitsPayer tells whether a hosted transaction still waits for its payer.
func (r *Record) AwaitsPayer() bool { return r.Hosted && r.Status == Created }

// Continue routes a hosted transaction to a terminal. reference is a new id, by which the provider knows the charge
// unless this is the payer's first attempt.
func (c DecisionContext) Continue(r *Record, entered Credentials, t *Terms, reference ledger.ID) Decision {
	d := newDecision(r)
	d.Record.takeCredentials(entered)
	d.Record.Failure = Failure{}
	if c.begin(&d, t); len(r.Ended) > 0 && d.Record.Terminal != (ledger.ID{}) {
		d.Record.Reference = reference
	}
	return d
}

// RefuseContinue ends a hosted transaction whose payer has entered credentials, without routing it to a terminal.
func (c DecisionContext) RefuseContinue(r *Record, entered Credentials, why Failure, attempts ...Attempt) Decision {
	d := newDecision(r)
	d.Record.Attempts = attempts
	d.Record.takeCredentials(entered)
	d.refuse(why)
	return d
}

// takeCredentials stores the payment method that the payer entered.
func (r *Record) takeCredentials(entered Credentials) {
	r.Method, r.CardBIN, r.CardLast4, r.CardFingerprint = entered.Method, entered.CardBIN, entered.CardLast4, entered.CardFingerprint
	r.PayerIP, r.Attempted, r.AgreedTotal = entered.PayerIP, entered.Attempted, entered.AgreedTotal
	if r.Asset.Network == "" {
		r.Asset.Network = entered.Network
	}
}

// begin routes a transaction to a terminal, or refuses it because of the terminal's terms.
func (c DecisionContext) begin(d *Decision, t *Terms) {
	r := d.Record
	unrouted := *r
	if code := r.takeTerms(t); code != "" {
		why := Failure{Code: code}
		*r = unrouted
		r.Asset = t.Asset
		r.Attempts = t.AttemptsIfStopped(why, c.Now)
		d.refuse(why)
		return
	}
	r.Attempts = append(r.Attempts[:len(r.Attempts):len(r.Attempts)], t.Skipped...)
	if r.Hosted && r.Type == Payment && r.HostedAttempts == 0 {
		r.HostedAttempts = t.HostedAttempts
	}
	d.move(Route, nil)
	c.authorise(d, t)
}

// authorise decides the intent to call the terminal's provider. The record has taken the terminal's terms already.
func (c DecisionContext) authorise(d *Decision, t *Terms) {
	r := d.Record
	var hold *ledger.Entry
	if r.Type == Payout {
		hold = r.holdEntry()
		d.Funds = []ledger.FundsGuard{{
			Org:       c.Org,
			Account:   ledger.Account{Path: ledger.PartnerAvailable(r.Partner), Asset: r.Asset},
			Overdraft: t.Overdraft,
		}}
	}
	d.move(Authorise, hold)
	if d.Counters == nil {
		d.Counters = make([]ledger.CounterGuard, 0, 1+len(t.Bounds))
	}
	d.Counters = r.reserve(c.Org, d.Counters)
	d.reserveVolumes(c.Org, t.Bounds)
	d.Due = c.fromNow(c.InquiryTimeout)
	d.Ask = AskSubmit
}

// Reroute tries another terminal after a refusal. The writer may refuse this decision; then the first terminal's
// answer becomes final. ok is false if the other terminal's terms exclude the transaction.
func (c DecisionContext) Reroute(r *Record, a Answer, t *Terms) (d Decision, ok bool) {
	d = newDecision(r)
	d.Counters = r.unreserve(c.Org, nil)
	d.move(Reroute, r.releaseEntry())
	failedAttempt := Attempt{Terminal: r.Terminal, Failure: a.Failure.orCode(CardDeclined), At: ledger.MicrosOf(c.Now), Outcome: AttemptRefused, Priority: r.Priority, Total: r.AmountWithFee}
	if a.Verdict == VerdictNotSent {
		failedAttempt.Outcome, failedAttempt.Failure = AttemptNotSent, a.Failure.orCode(ProcessingError)
	}
	d.Record.Attempts = append(append(r.Attempts[:len(r.Attempts):len(r.Attempts)], failedAttempt), t.Skipped...)
	d.Record.NotFoundAnswers, d.Record.Inquiries, d.Record.ConfirmedByProvider = 0, 0, false
	if code := d.Record.takeTerms(t); code != "" {
		return Decision{}, false
	}
	c.authorise(&d, t)
	return d, true
}

// Reroutable tells whether another terminal may be tried after an answer: the terminal refused or was never
// reached, so no money can have moved there.
func Reroutable(r *Record, a Answer) bool {
	return r.Status == Authorizing && r.NotFoundAnswers == 0 && (a.Verdict == VerdictRefused || a.Verdict == VerdictNotSent)
}

// reserve appends the guards that reserve headroom for the charge. Headroom keeps every account total in range,
// whatever the outcome is.
func (r *Record) reserve(org ledger.ID, guards []ledger.CounterGuard) []ledger.CounterGuard {
	if guards == nil {
		guards = make([]ledger.CounterGuard, 0, 1)
	}
	guards = append(guards, ledger.Headroom(org, r.Asset, plus(r.AmountWithFee, r.Fee)))
	if !r.Rate.IsZero() && !r.DestAmount.IsZero() {
		guards = append(guards, ledger.Headroom(org, r.SettlementAsset, r.DestAmount))
	}
	return guards
}

// unreserve appends the guards that release what reserve and reserveVolumes have reserved.
func (r *Record) unreserve(org ledger.ID, guards []ledger.CounterGuard) []ledger.CounterGuard {
	guards = append(guards, ledger.ReleaseHeadroom(org, r.Asset, plus(r.AmountWithFee, r.Fee)))
	if !r.Rate.IsZero() && !r.DestAmount.IsZero() {
		guards = append(guards, ledger.ReleaseHeadroom(org, r.SettlementAsset, r.DestAmount))
	}
	return r.releaseVolumes(org, r.Amount, guards)
}

// releaseSurplus returns the guards that release the surplus of a partial capture: what the whole charge reserved, less
// what its captured part needs.
func (r *Record) releaseSurplus(fullCharge *Record, org ledger.ID) []ledger.CounterGuard {
	var guards []ledger.CounterGuard
	if surplus := must(plus(fullCharge.AmountWithFee, fullCharge.Fee).Sub(plus(r.AmountWithFee, r.Fee))); !surplus.IsZero() {
		guards = append(guards, ledger.ReleaseHeadroom(org, r.Asset, surplus))
	}
	if surplus := must(fullCharge.DestAmount.Sub(r.DestAmount)); !r.Rate.IsZero() && !surplus.IsZero() {
		guards = append(guards, ledger.ReleaseHeadroom(org, r.SettlementAsset, surplus))
	}
	return guards
}

// Bounds of the gaps between inquiries. The gaps grow up to 2^maxBackOff provider time-outs. A gap is at least
// minRetryDelay, even if the rail wants an inquiry at once, so that a new due instant always differs from the old one.
const (
	maxBackOff    = 8
	minRetryDelay = time.Millisecond
	maxRetryDelay = 24 * time.Hour // even if the rail asks for a longer gap
)

// nextInquiry returns the instant of the next inquiry after an answer that is not final.
func (c DecisionContext) nextInquiry(inquiries *uint8, a Answer) ledger.Micros {
	if a.NextInquiryIn > 0 {
		return c.fromNow(min(max(a.NextInquiryIn, minRetryDelay), maxRetryDelay))
	}
	gap := c.InquiryTimeout << min(*inquiries, maxBackOff)
	*inquiries = min(*inquiries+1, maxBackOff)
	return c.fromNow(gap)
}

func (c DecisionContext) fromNow(d time.Duration) ledger.Micros { return ledger.MicrosOf(c.Now.Add(d)) }

// giveUp ends a transaction that moved no money and releases what it reserved.
func (d *Decision) giveUp(c DecisionContext, why Failure) {
	d.Counters = d.Record.unreserve(c.Org, c.room(d.Counters))
	d.Record.Volumes = nil
	d.end(why)
}

// end makes the transaction final: it records the failure and clears what only a charge under way needs.
func (d *Decision) end(why Failure) {
	r := d.Record
	r.Failure = why
	r.Action, r.Op, r.KeepCard, r.HoldUntil = nil, nil, false, 0
	d.IsFinal = true
	d.Due = 0
}

// amountOf returns the requested amount, or the total if none was requested.
func amountOf(requested *money.Amount, total money.Amount) money.Amount {
	if requested == nil {
		return total
	}
	return *requested
}

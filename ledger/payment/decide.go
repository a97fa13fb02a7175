package payment

import (
	"net/netip"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
)

// DecisionContext has the inputs of a decision besides the record.
type DecisionContext struct {
	Org            ledger.ID
	Now            time.Time
	Due            ledger.Micros // the record's due instant; 0: none
	InquiryTimeout time.Duration // the provider time-out, after which the provider is asked for the outcome of an unanswered call
	ActionTTL      time.Duration // how long a payer has time to act

	// CounterBuffer is reusable memory for Decision.Counters. Only a decision with MustRecord uses it, and no two decisions may
	// share it. If it is nil, memory is allocated.
	CounterBuffer []ledger.CounterGuard
}

// Ask is the question that is sent to the provider when a decision is durable.
type Ask uint8

// The questions. The zero value asks nothing.
const (
	AskNothing   Ask = iota
	AskSubmit        // submit the charge
	AskInquire       // ask for the outcome of the charge
	AskOp            // submit the operation Record.Op
	AskInquireOp     // ask for the outcome of the operation Record.Op
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
	MustRecord bool          // the writer must not refuse the decision, because a past event or a timer caused it
	Ask        Ask
	Return     *Decision // creates the return transaction, if Record becomes Reversed

	bounds     []Bound // bounds of the volume limits; their guards in Counters begin at index firstBound
	firstBound int
}

// newDecision begins a decision on a copy of the record.
func newDecision(r *Record) Decision {
	copied := *r
	return Decision{Record: &copied}
}

// PreRoutingRejection returns why a create request is rejected before routing; empty if it is not rejected. A hosted transaction
// needs neither credentials, which its payer enters later, nor return addresses. A renewal needs no return addresses,
// because no payer is present.
func PreRoutingRejection(r *Request, hosted bool) Code {
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

// Create creates a transaction on a terminal. The decision is the intent to call the terminal's provider, and is durable
// before the call. For a payout it also holds the money.
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

	Network money.Network // network that the credentials name; empty: none

	AgreedTotal money.Amount // total that the payer saw and agreed to (Request.AgreedTotal)

	PayerIP   netip.Addr    // IP address from which the credentials came; zero: unknown
	Attempted ledger.Micros // when routing began (Request.Attempted)
}

// AwaitsPayer tells whether a hosted transaction still waits for its payer.
func (r *Record) AwaitsPayer() bool { return r.Hosted && r.Status == Created }

// Continue routes a hosted transaction to a terminal. reference is a new id. It becomes the charge's reference at the
// provider. In the payer's first attempt it is not used, because the transaction's id is the reference.
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

// authorise adds the intent to call the terminal's provider to the decision. takeTerms has been called before.
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

// Reroute tries another terminal after a refusal. If the journal's writer refuses this decision, the first terminal's answer
// becomes final. ok is false if the other terminal's terms exclude the transaction.
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

// Reroutable tells whether another terminal may be tried after an answer. That is so if the terminal refused or was never
// reached, because no money can have moved there.
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

// releaseSurplus returns the guards that release surplus headroom after a partial capture. The surplus is the headroom that
// the whole charge reserved, less the headroom that the captured part needs.
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

// Bounds of the gaps between inquiries. A gap is at most 2^maxBackOff provider time-outs. It is at least minRetryDelay, even
// if the rail wants an inquiry at once, so that a new due instant always differs from the old one.
const (
	maxBackOff    = 8
	minRetryDelay = time.Millisecond
	maxRetryDelay = 24 * time.Hour // largest gap, even if the rail asks for a longer one
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

// giveUp ends a transaction that moved no money, and releases the amounts that the transaction reserved.
func (d *Decision) giveUp(c DecisionContext, why Failure) {
	d.Counters = d.Record.unreserve(c.Org, c.counterSlice(d.Counters))
	d.Record.Volumes = nil
	d.end(why)
}

// end makes the transaction final. It records the failure and clears the fields that only a charge under way needs.
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

package payment

import (
	"net/netip"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
)

// DecisionContext holds all inputs of a decision except the record.
type DecisionContext struct {
	Org            ledger.ID
	Now            time.Time
	Due            ledger.Micros // the record's due instant; 0 if none
	InquiryTimeout time.Duration // provider time-out: after an unanswered call, the time until the inquiry for the outcome
	ActionTTL      time.Duration // how much time a payer has to act

	// CounterBuffer is reusable memory for Decision.Counters. Only decisions with MustRecord use the buffer, and two
	// decisions must not share it. If it is nil, new memory is allocated.
	CounterBuffer []ledger.CounterGuard
}

// ProviderRequest is the request that is sent to the provider once a decision is durable.
type ProviderRequest uint8

// The requests. The zero value sends nothing.
const (
	NoRequest        ProviderRequest = iota
	SubmitCharge                     // submit the charge
	InquireCharge                    // ask for the outcome of the charge
	SubmitOperation                  // submit the operation Record.Op
	InquireOperation                 // ask for the outcome of the operation Record.Op
	ReissueAction                    // ask the provider to publish the payer's action again
)

// Decision is the effect of a command or an answer on a transaction.
type Decision struct {
	Record          *Record // the new version of the record, always a copy
	Events          []ledger.Event
	Funds           []ledger.FundsGuard
	Counters        []ledger.CounterGuard
	Due             ledger.Micros // when the record is due; 0 if never
	IsFinal         bool          // whether the record has reached a final status
	MustRecord      bool          // whether the journal's writer must accept the decision, because a timer or a past event caused it
	ProviderRequest ProviderRequest
	Return          *Decision // if Record becomes Reversed: creates the return transaction

	bounds     []Bound // bounds of the volume limits; Counters has their guards from index firstBound on
	firstBound int
}

// newDecision begins a decision on a copy of the record.
func newDecision(r *Record) Decision {
	copied := *r
	return Decision{Record: &copied}
}

// PreRoutingRejection returns the reason to reject a create request before routing, or "" if there is none. A hosted
// transaction needs no credentials, because its payer enters them later, and no return addresses. A renewal needs no
// return addresses, because no payer is present.
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

// Reject creates a transaction in status rejected. attempts lists the terminals that were considered.
func (c DecisionContext) Reject(id ledger.ID, partner int64, r Request, why Failure, attempts ...Attempt) Decision {
	d := Decision{Record: &Record{ID: id, Partner: partner, Request: r, Status: Absent, Attempts: attempts}}
	d.move(Create, nil)
	d.refuse(why)
	return d
}

// refuse ends a transaction that has not been sent to any terminal.
func (d *Decision) refuse(why Failure) {
	d.Record.clearPrice()
	d.move(Refuse, nil)
	d.end(why)
}

// Create creates a transaction and routes it to a terminal. The decision records the intent to call the terminal's
// provider, and must be durable before the call. For a payout, the decision also holds the money.
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
		d.Counters = ledger.CountLinkPayment(c.Org, r.LinkID, r.Asset)
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

	Network money.Network // network that the credentials name; empty if none

	AgreedTotal money.Amount // total that the payer saw and agreed to (Request.AgreedTotal)

	PayerIP     netip.Addr    // IP address from which the credentials came; zero if unknown
	AttemptedAt ledger.Micros // when routing began (Request.AttemptedAt)
}

// AwaitsPayer tells whether a hosted transaction still waits for its payer.
func (r *Record) AwaitsPayer() bool { return r.Hosted && r.Status == Created }

// Continue routes a hosted transaction to a terminal, after the payer has entered credentials. The provider will know the
// charge by reference, which must be a new id. The first attempt ignores it and uses the transaction's id.
func (c DecisionContext) Continue(r *Record, entered Credentials, t *Terms, reference ledger.ID) Decision {
	d := newDecision(r)
	d.Record.setCredentials(entered)
	d.Record.Failure = Failure{}
	if c.begin(&d, t); len(r.EndedAttempts) > 0 && d.Record.Terminal != (ledger.ID{}) {
		d.Record.Reference = reference
	}
	return d
}

// RefuseContinue ends a hosted transaction after the payer has entered credentials. The transaction is not routed to a
// terminal.
func (c DecisionContext) RefuseContinue(r *Record, entered Credentials, why Failure, attempts ...Attempt) Decision {
	d := newDecision(r)
	d.Record.Attempts = attempts
	d.Record.setCredentials(entered)
	d.refuse(why)
	return d
}

// setCredentials stores the payment method that the payer entered.
func (r *Record) setCredentials(entered Credentials) {
	r.Method, r.CardBIN, r.CardLast4, r.CardFingerprint = entered.Method, entered.CardBIN, entered.CardLast4, entered.CardFingerprint
	r.PayerIP, r.AttemptedAt, r.AgreedTotal = entered.PayerIP, entered.AttemptedAt, entered.AgreedTotal
	if r.Asset.Network == "" {
		r.Asset.Network = entered.Network
	}
}

// begin routes a transaction to a terminal. If the terminal's terms exclude the transaction, begin refuses it.
func (c DecisionContext) begin(d *Decision, t *Terms) {
	r := d.Record
	unrouted := *r
	if code := r.setTerms(t); code != "" {
		why := Failure{Code: code}
		*r = unrouted
		r.Asset = t.Asset
		r.Attempts = t.AttemptsIfStopped(why, c.Now)
		d.refuse(why)
		return
	}
	r.Attempts = append(r.Attempts[:len(r.Attempts):len(r.Attempts)], t.SkippedTerminals...)
	if r.Hosted && r.Type == Payment && r.HostedAttempts == 0 {
		r.HostedAttempts = t.HostedAttempts
	}
	d.move(Route, nil)
	c.authorise(d, t)
}

// authorise adds to the decision the intent to call the terminal's provider. It is called after setTerms.
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
	d.ProviderRequest = SubmitCharge
}

// Reroute returns the decision to try another terminal after a refusal. If the journal's writer refuses the decision, the
// first terminal's refusal is final. ok is false if the terms of the new terminal exclude the transaction.
func (c DecisionContext) Reroute(r *Record, a ProviderAnswer, t *Terms) (d Decision, ok bool) {
	d = newDecision(r)
	d.Counters = r.unreserve(c.Org, nil)
	d.move(Reroute, r.releaseEntry())
	failedAttempt := Attempt{Terminal: r.Terminal, Failure: a.Failure.orCode(CardDeclined), At: ledger.MicrosOf(c.Now), Outcome: AttemptRefused, Priority: r.Priority, Total: r.AmountWithFee}
	if a.Verdict == VerdictNotSent {
		failedAttempt.Outcome, failedAttempt.Failure = AttemptNotSent, a.Failure.orCode(ProcessingError)
	}
	d.Record.Attempts = append(append(r.Attempts[:len(r.Attempts):len(r.Attempts)], failedAttempt), t.SkippedTerminals...)
	d.Record.NotFoundAnswers, d.Record.Inquiries, d.Record.ConfirmedByProvider = 0, 0, false
	d.Record.RailMeta = nil
	if code := d.Record.setTerms(t); code != "" {
		return Decision{}, false
	}
	c.authorise(&d, t)
	return d, true
}

// Reroutable tells whether another terminal may be tried after an answer. It may be tried only if the first terminal
// refused or was never reached, because then no money can have moved.
func Reroutable(r *Record, a ProviderAnswer) bool {
	return r.Status == Authorizing && r.NotFoundAnswers == 0 && (a.Verdict == VerdictRefused || a.Verdict == VerdictNotSent)
}

// reserve appends the guards that reserve headroom for the charge. The reserved headroom guarantees that every account
// total stays in range, however the charge ends.
func (r *Record) reserve(org ledger.ID, guards []ledger.CounterGuard) []ledger.CounterGuard {
	if guards == nil {
		guards = make([]ledger.CounterGuard, 0, 1)
	}
	guards = append(guards, ledger.ReserveHeadroom(org, r.Asset, plus(r.AmountWithFee, r.Fee)))
	if !r.Rate.IsZero() && !r.DestAmount.IsZero() {
		guards = append(guards, ledger.ReserveHeadroom(org, r.SettlementAsset, r.DestAmount))
	}
	return guards
}

// unreserve appends the guards that release the amounts that reserve and reserveVolumes have reserved.
func (r *Record) unreserve(org ledger.ID, guards []ledger.CounterGuard) []ledger.CounterGuard {
	guards = append(guards, ledger.ReleaseHeadroom(org, r.Asset, plus(r.AmountWithFee, r.Fee)))
	if !r.Rate.IsZero() && !r.DestAmount.IsZero() {
		guards = append(guards, ledger.ReleaseHeadroom(org, r.SettlementAsset, r.DestAmount))
	}
	return r.releaseVolumes(org, r.Amount, guards)
}

// releaseSurplus returns the guards that release surplus headroom after a partial capture. The surplus is the headroom of
// the whole charge minus the headroom of the captured part.
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

// Bounds of the delays between inquiries. If the rail asks for no particular delay, the delay is at most 2^maxBackOff
// provider time-outs. It is at least minRetryDelay, even if the rail wants an inquiry at once, so that a new due instant
// always differs from the old one.
const (
	maxBackOff    = 8
	minRetryDelay = time.Millisecond
	maxRetryDelay = 24 * time.Hour // largest delay, even if the rail asks for a longer one
)

// nextInquiry returns the instant of the next inquiry after an answer that is not final.
func (c DecisionContext) nextInquiry(inquiries *uint8, a ProviderAnswer) ledger.Micros {
	if a.NextInquiryIn > 0 {
		return c.fromNow(min(max(a.NextInquiryIn, minRetryDelay), maxRetryDelay))
	}
	gap := c.InquiryTimeout << min(*inquiries, maxBackOff)
	*inquiries = min(*inquiries+1, maxBackOff)
	return c.fromNow(gap)
}

func (c DecisionContext) fromNow(d time.Duration) ledger.Micros { return ledger.MicrosOf(c.Now.Add(d)) }

// giveUp ends a transaction that moved no money, and releases the reserved amounts.
func (d *Decision) giveUp(c DecisionContext, why Failure) {
	d.Counters = d.Record.unreserve(c.Org, c.counterSlice(d.Counters))
	d.Record.Volumes = nil
	d.end(why)
}

// end makes the transaction final. It stores the failure and clears the fields that are needed only while a charge is
// under way.
func (d *Decision) end(why Failure) {
	r := d.Record
	r.Failure = why
	r.Action, r.Op, r.KeepCard, r.HoldUntil = nil, nil, false, 0
	d.IsFinal = true
	d.Due = 0
}

// amountOf returns the requested amount, or the total if the request named no amount.
func amountOf(requested *money.Amount, total money.Amount) money.Amount {
	if requested == nil {
		return total
	}
	return *requested
}

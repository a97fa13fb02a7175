package payment

import (
	"net/netip"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Case is what a decision may know besides the record.
type Case struct {
	Org       ledger.ID
	Now       time.Time
	Due       ledger.Micros // what the record is to be woken at; 0: it is not
	Inquire   time.Duration // the provider time-out: when an unanswered call is inquired
	ActionTTL time.Duration // how long a payer may take

	// Room is memory that nobody needs any more, for the Counters of one decision
	// that is an outcome; nil: they take their own.
	Room []ledger.CounterGuard
}

// Ask is what is to be asked of the provider once a decision is durable.
type Ask uint8

// The asks. The zero value asks nothing.
const (
	AskNothing   Ask = iota
	AskSubmit        // the charge
	AskInquire       // what became of the charge
	AskOp            // Record.Op
	AskInquireOp     // what became of Record.Op
	AskReissue       // to publish anew what the payer has to do
)

// Decision is what a command does to a transaction.
type Decision struct {
	Record   *Record // the next record; never the one decided on
	Events   []ledger.Event
	Funds    []ledger.FundsGuard
	Counters []ledger.CounterGuard
	Due      ledger.Micros // when the record wants to be woken; 0: never
	Finish   bool          // a final status is reached
	Outcome  bool          // something that has happened: may not be refused
	Ask      Ask
	Return   *Decision // the return's own transaction, for Reversed

	bounds     []Bound // those whose counters begin at firstBound
	firstBound int
}

// next begins a decision on a record.
func next(r *Record) Decision {
	copied := *r
	return Decision{Record: &copied}
}

// Unacceptable is why a create is rejected before routing; empty: it is not. A
// hosted one gets its credentials later, and needs no address to return to; nor
// does a renewal, whose payer is not there.
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

// Reject creates a transaction that is refused at once; attempts say which
// terminals were looked at.
func (c Case) Reject(id ledger.ID, partner int64, r Request, why Failure, attempts ...Attempt) Decision {
	d := Decision{Record: &Record{ID: id, Partner: partner, Request: r, Status: Absent, Attempts: attempts}}
	d.move(Create, nil)
	d.refuse(why)
	return d
}

// refuse ends a transaction that no terminal was found for.
func (d *Decision) refuse(why Failure) {
	d.Record.unpriced()
	d.move(Refuse, nil)
	d.end(why)
}

// Create creates a transaction on a terminal: the intent to call its provider.
// A payout's money is held with it.
func (c Case) Create(id ledger.ID, partner int64, r Request, t *Terms) Decision {
	d := Decision{Record: &Record{ID: id, Partner: partner, Request: r, Status: Absent}}
	d.move(Create, nil)
	c.begin(&d, t)
	return d
}

// Host creates a transaction that waits for its payer on the hosted page.
func (c Case) Host(id ledger.ID, partner int64, r Request) Decision {
	d := Decision{Record: &Record{ID: id, Partner: partner, Request: r, Status: Absent, Hosted: true}}
	d.Record.unpriced()
	d.move(Create, nil)
	d.Due = c.after(c.ActionTTL)
	return d
}

// Credentials are what a payer brings to the hosted page.
type Credentials struct {
	Method, CardBIN, CardLast4, CardPrint string

	Network money.Network // that the credentials are of; empty: they name none

	PayerIP   netip.Addr    // where they came from; the zero value: not known
	Attempted ledger.Micros // as of the Request
}

// Waiting tells whether a hosted transaction still waits for its payer.
func (r *Record) Waiting() bool { return r.Hosted && r.Status == Created }

// Continue goes on with a hosted transaction on a terminal.
func (c Case) Continue(r *Record, with Credentials, t *Terms) Decision {
	d := next(r)
	d.Record.brings(with)
	c.begin(&d, t)
	return d
}

// RefuseContinue ends a hosted transaction that no terminal was found for.
func (c Case) RefuseContinue(r *Record, with Credentials, why Failure, attempts ...Attempt) Decision {
	d := next(r)
	d.Record.Attempts = attempts
	d.Record.brings(with)
	d.refuse(why)
	return d
}

func (r *Record) brings(with Credentials) {
	r.Method, r.CardBIN, r.CardLast4, r.CardPrint = with.Method, with.CardBIN, with.CardLast4, with.CardPrint
	r.PayerIP, r.Attempted = with.PayerIP, with.Attempted
	if r.Asset.Network == "" {
		r.Asset.Network = with.Network
	}
}

// begin routes a transaction to a terminal, or refuses it by the terminal's terms.
func (c Case) begin(d *Decision, t *Terms) {
	r := d.Record
	unrouted := *r
	if code := r.take(t); code != "" {
		why := Failure{Code: code}
		*r = unrouted
		r.Asset = t.Asset
		r.Attempts = t.Stopped(why, c.Now)
		d.refuse(why)
		return
	}
	r.Attempts = append(r.Attempts[:len(r.Attempts):len(r.Attempts)], t.Skipped...)
	d.move(Route, nil)
	c.authorise(d, t)
}

// authorise is the intent to call the provider of the terminal whose terms the
// record has taken.
func (c Case) authorise(d *Decision, t *Terms) {
	r := d.Record
	var hold *ledger.Entry
	if r.Type == Payout {
		hold = r.hold()
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
	d.count(c.Org, t.Bounds)
	d.Due = c.after(c.Inquire)
	d.Ask = AskSubmit
}

// Reroute tries another terminal after one that refused. It is a command: where
// the writer refuses it, the first terminal's answer stands. ok is false if the
// other terminal's terms rule it out.
func (c Case) Reroute(r *Record, a Answer, t *Terms) (d Decision, ok bool) {
	d = next(r)
	d.Counters = r.reserved(c.Org, nil)
	d.move(Reroute, r.release())
	tried := Attempt{Terminal: r.Terminal, Failure: a.Failure.as(CardDeclined), At: ledger.MicrosOf(c.Now), Outcome: AttemptRefused, Priority: r.Priority}
	if a.Verdict == VerdictNotSent {
		tried.Outcome, tried.Failure = AttemptNotSent, a.Failure.as(ProcessingError)
	}
	d.Record.Attempts = append(append(r.Attempts[:len(r.Attempts):len(r.Attempts)], tried), t.Skipped...)
	d.Record.Unheard, d.Record.Inquiries, d.Record.Known = 0, 0, false
	if code := d.Record.take(t); code != "" {
		return Decision{}, false
	}
	c.authorise(&d, t)
	return d, true
}

// Reroutable tells whether an answer sends the transaction on to another
// terminal: the first one refused or was never reached, and nothing is unknown.
func Reroutable(r *Record, a Answer) bool {
	return r.Status == Authorizing && r.Unheard == 0 && (a.Verdict == VerdictRefused || a.Verdict == VerdictNotSent)
}

// reserve appends the guards that keep every total from overflowing, whatever
// becomes of the charge.
func (r *Record) reserve(org ledger.ID, to []ledger.CounterGuard) []ledger.CounterGuard {
	if to == nil {
		to = make([]ledger.CounterGuard, 0, 1)
	}
	to = append(to, ledger.Headroom(org, r.Asset, plus(r.WithFee, r.Fee)))
	if !r.Rate.IsZero() && !r.Dest.IsZero() {
		to = append(to, ledger.Headroom(org, r.Settles, r.Dest))
	}
	return to
}

// reserved appends the guards that give back what reserve reserved.
func (r *Record) reserved(org ledger.ID, to []ledger.CounterGuard) []ledger.CounterGuard {
	to = append(to, ledger.HeadroomBack(org, r.Asset, plus(r.WithFee, r.Fee)))
	if !r.Rate.IsZero() && !r.Dest.IsZero() {
		to = append(to, ledger.HeadroomBack(org, r.Settles, r.Dest))
	}
	return r.less(org, r.Amount, to)
}

// freed are the guards that give back what a whole charge reserved above what a
// part of it, which was captured, needs.
func (r *Record) freed(whole *Record, org ledger.ID) []ledger.CounterGuard {
	var to []ledger.CounterGuard
	if less := must(plus(whole.WithFee, whole.Fee).Sub(plus(r.WithFee, r.Fee))); !less.IsZero() {
		to = append(to, ledger.HeadroomBack(org, r.Asset, less))
	}
	if less := must(whole.Dest.Sub(r.Dest)); !r.Rate.IsZero() && !less.IsZero() {
		to = append(to, ledger.HeadroomBack(org, r.Settles, less))
	}
	return to
}

// Bounds of the gaps between inquiries: they grow up to 2^8 provider time-outs,
// and a rail that wants to be asked at once is asked a little later, so that
// the instant that a record waits for is never the one that it has.
const (
	maxBackOff = 8
	minAgain   = time.Millisecond
	maxAgain   = 24 * time.Hour // whatever a rail says
)

// again is when to inquire after an answer that says nothing final.
func (c Case) again(inquiries *uint8, a Answer) ledger.Micros {
	if a.Again > 0 {
		return c.after(min(max(a.Again, minAgain), maxAgain))
	}
	gap := c.Inquire << min(*inquiries, maxBackOff)
	*inquiries = min(*inquiries+1, maxBackOff)
	return c.after(gap)
}

func (c Case) after(d time.Duration) ledger.Micros { return ledger.MicrosOf(c.Now.Add(d)) }

// giveUp ends a transaction that moved no money.
func (d *Decision) giveUp(c Case, why Failure) {
	d.Counters = d.Record.reserved(c.Org, c.room(d.Counters))
	d.Record.Volumes = nil
	d.end(why)
}

// end clears what only a living charge needs.
func (d *Decision) end(why Failure) {
	r := d.Record
	r.Failure = why
	r.Action, r.Op, r.KeepCard, r.HoldUntil = nil, nil, false, 0
	d.Finish = true
	d.Due = 0
}

// amountOf is the amount asked for, or all that there is.
func amountOf(asked *money.Amount, all money.Amount) money.Amount {
	if asked == nil {
		return all
	}
	return *asked
}

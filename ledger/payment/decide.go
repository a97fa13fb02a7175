package payment

import (
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Texts of error_description that the service gives itself. Those of the
// specification are exact.
const (
	UnexpectedCard      = "unexpected card"
	NoReturnURL         = "return_url/fail_url params not specified"
	AmountOutOfRange    = "amount out of range"
	NoTerminal          = "no terminal available"
	FeeExceedsAmount    = "fee exceeds amount"
	InsufficientBalance = "insufficient balance"
	Interrupted         = "interrupted"
)

// Case is what a decision may know besides the record.
type Case struct {
	Org     ledger.ID
	Now     time.Time
	Inquire time.Duration // the provider time-out: when an unanswered call is inquired
}

// Terms are what the chosen terminal brings to a transaction.
type Terms struct {
	Terminal  ledger.ID
	Route     string // the rail's name
	ShownText string // replaces the description that the payer is shown
	FeeBps    money.BasisPoints
	FeeFixed  money.Amount
	FeeOnTop  bool
	Overdraft money.Amount // how far the partner's available balance may go below zero
	Asset     money.Asset  // the transaction's, with its network resolved
}

// Ask is what is to be asked of the provider once a decision is durable.
type Ask uint8

// The asks. The zero value asks nothing.
const (
	AskNothing Ask = iota
	AskSubmit
	AskInquire
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
}

// Unacceptable is why a create is rejected before routing; empty: it is not.
func Unacceptable(r *Request) string {
	switch {
	case r.Method == "":
		return UnexpectedCard
	case r.Type == Payment && (r.ReturnURL == "" || r.FailURL == ""):
		return NoReturnURL
	case ledger.MaxAmount.Less(r.Amount):
		return AmountOutOfRange
	}
	return ""
}

// Reject creates a transaction that is refused at once.
func (c Case) Reject(id ledger.ID, partner int64, r Request, reason string) Decision {
	d := Decision{Record: &Record{ID: id, Partner: partner, Request: r, Status: Absent}}
	d.Record.unpriced()
	d.move(Create, nil)
	d.move(Refuse, nil)
	d.Finish = true
	d.Record.Error = reason
	return d
}

// Create creates a transaction on a terminal: the intent to call its provider.
// A payout's money is held with it.
func (c Case) Create(id ledger.ID, partner int64, r Request, t Terms) Decision {
	d := Decision{Record: &Record{ID: id, Partner: partner, Request: r, Status: Absent}}
	d.Record.Asset = t.Asset
	if reason := d.Record.price(t); reason != "" {
		return c.Reject(id, partner, r, reason)
	}
	d.Record.Terminal, d.Record.Route, d.Record.ShownText = t.Terminal, t.Route, t.ShownText
	d.move(Create, nil)
	d.move(Route, nil)
	var hold *ledger.Entry
	if r.Type == Payout {
		hold = &ledger.Entry{Phase: ledger.Pending, Postings: d.Record.payoutPostings()}
		d.Funds = []ledger.FundsGuard{{
			Org:       c.Org,
			Account:   ledger.Account{Path: ledger.PartnerAvailable(partner), Asset: t.Asset},
			Overdraft: t.Overdraft,
		}}
	}
	d.move(Authorise, hold)
	d.Counters = []ledger.CounterGuard{ledger.Headroom(c.Org, t.Asset, d.Record.reserve())}
	d.Due = c.after(c.Inquire)
	d.Ask = AskSubmit
	return d
}

// Verdict is what a provider said, or that it said nothing.
type Verdict uint8

// The verdicts. The zero value is invalid.
const (
	SaidCharged Verdict = iota + 1
	SaidPending
	SaidRefused
	SaidFailed
	SaidNothing  // time-out or broken connection
	SaidNotKnown // an inquiry's answer: the reference never arrived
)

// Answer is a provider's answer to a submission or an inquiry.
type Answer struct {
	Verdict Verdict
	Reason  string
	RRN     string
	Again   time.Duration // when to inquire; 0: after Case.Inquire, longer each time
}

// Answered decides on a provider's answer. ok is false if the record waits for
// none: the answer comes too late and says nothing new.
func (c Case) Answered(r *Record, a Answer) (d Decision, ok bool) {
	if r.Status != Authorizing && r.Status != Charging {
		return Decision{}, false
	}
	next := *r
	d = Decision{Record: &next, Outcome: true}
	switch a.Verdict {
	case SaidCharged:
		d.process()
		next.RRN = a.RRN
		d.move(Settle, next.settlement())
		d.Finish = true
	case SaidRefused:
		d.move(Decline, next.release())
		d.giveUp(c, a.Reason)
	case SaidFailed:
		d.process()
		d.move(Fail, next.release())
		d.giveUp(c, a.Reason)
	case SaidNotKnown:
		c.unheard(&d)
	case SaidPending, SaidNothing:
		next.Unheard = 0
		if next.Status == Authorizing {
			d.process()
		} else {
			d.move(Await, nil)
		}
		d.Due = c.again(&next, a)
	}
	return d, true
}

// unheard decides on "unknown reference": the second in a row, a provider
// time-out apart, means that the call never arrived.
func (c Case) unheard(d *Decision) {
	if d.Record.Unheard == 0 {
		d.Record.Unheard = 1
		d.move(Await, nil)
		d.Due = c.after(c.Inquire)
		return
	}
	d.process()
	d.move(Fail, d.Record.release())
	d.giveUp(c, Interrupted)
}

// Bounds of the gaps between inquiries: they grow up to 2^8 provider time-outs,
// and a rail that wants to be asked at once is asked a little later, so that
// the instant that a record waits for is never the one that it has.
const (
	maxBackOff = 8
	minAgain   = time.Millisecond
)

func (c Case) again(r *Record, a Answer) ledger.Micros {
	if a.Again > 0 {
		return c.after(max(a.Again, minAgain))
	}
	gap := c.Inquire << min(r.Inquiries, maxBackOff)
	r.Inquiries = min(r.Inquiries+1, maxBackOff)
	return c.after(gap)
}

func (c Case) after(d time.Duration) ledger.Micros { return ledger.MicrosOf(c.Now.Add(d)) }

// Woken decides what a record wants at the instant that it asked for.
func Woken(r *Record) Ask {
	if r.Status == Authorizing || r.Status == Charging {
		return AskInquire
	}
	return AskNothing
}

// Reversed decides on settled money that the rail took back: the original is
// reversed, and the return is a transaction of its own with the mirrored entry.
func (c Case) Reversed(r *Record, charge uint64, returnID ledger.ID, reason string) (Decision, bool) {
	if r.Status != Charged || r.Type != Payment || r.ReversalOf != (ledger.ID{}) {
		return Decision{}, false
	}
	next := *r
	next.ReturnID = returnID
	next.Error = reason
	d := Decision{Record: &next, Outcome: true}
	d.move(Reverse, nil)
	d.Finish = true

	back := Record{ID: returnID, Partner: r.Partner, Status: Absent, ReversalOf: r.ID, Terminal: r.Terminal, Route: r.Route,
		Fee: r.Fee, WithFee: r.WithFee, Dest: r.Dest, Merchant: r.Merchant}
	back.Request = Request{Type: Payout, Amount: r.Amount, Asset: r.Asset, Method: r.Method,
		MerchantMeta: []byte(`{"reversal_of":"` + r.ID.String() + `"}`)}
	ret := Decision{Record: &back, Outcome: true}
	ret.move(Return, &ledger.Entry{Phase: ledger.Posted, Reverses: charge, Postings: mirror(r.chargePostings())})
	ret.Finish = true
	d.Return = &ret
	return d, true
}

// process moves an intent on, unless it was processed already.
func (d *Decision) process() {
	if d.Record.Status == Authorizing {
		d.move(Process, nil)
	}
}

// giveUp ends a transaction that moved no money.
func (d *Decision) giveUp(c Case, reason string) {
	d.Record.Error = reason
	d.Finish = true
	d.Counters = append(d.Counters, ledger.HeadroomBack(c.Org, d.Record.Asset, d.Record.reserve()))
}

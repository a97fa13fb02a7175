package subscription

import (
	"time"

	"mizan/ledger"
)

// Gaps of the engine, by the business clock.
const (
	// WaitGap is when to look again whether the partner may be renewed.
	WaitGap = time.Hour
	// firstLook and lastLook are when to look what became of a renewal that
	// nothing was heard of. What is heard comes without being looked for: a look
	// finds what a kill has lost.
	firstLook = time.Minute
	lastLook  = 24 * time.Hour
)

// MaxAttempts is how often one renewal is tried at the most. Behind the retries each
// attempt takes a Resume.
const MaxAttempts = 255

// retries are the gaps, each from the failure before, after which a renewal that
// was not paid is charged again. After the last the subscription is paused.
var retries = [...]time.Duration{24 * time.Hour, 3 * 24 * time.Hour, 5 * 24 * time.Hour}

// Decision is what a command does to a subscription.
type Decision struct {
	Record  *Record // the next record; never the one decided on
	Events  []ledger.Event
	Tidings []Tiding      // what merchants are told, in the order of Events
	Due     ledger.Micros // when the record wants to be woken; 0: never
	Outcome bool          // something due, or that has happened: may not be refused
	Charge  bool          // the record's last renewal is to be charged, if it is not there yet
}

// Tiding is what is told of an event.
type Tiding struct {
	Index    int // of the event in Decision.Events
	Event    Event
	Standing Standing // just after it
}

// next begins a decision on a record.
func next(r *Record) Decision {
	copied := *r
	return Decision{Record: &copied}
}

func micros(at time.Time) ledger.Micros { return ledger.MicrosOf(at) }

// New creates a subscription on the terms, which Check has found to be right. The
// initial payment is for the first period: the first renewal is one period away.
func New(id ledger.ID, partner int64, t Terms, of Credential, now time.Time) Decision {
	d := Decision{Record: &Record{ID: id, Partner: partner, Terms: t, Terminal: of.Terminal, Asset: of.Asset}}
	r := d.Record
	r.State = Absent
	r.Anchor = micros(now.Add(r.period()))
	r.Next = r.Anchor
	d.move(Create)
	d.Due = r.Next
	return d
}

// Ripe tells whether a renewal is to be begun.
func (r *Record) Ripe(now time.Time) bool {
	return (r.State == Active || r.State == PastDue) && r.Next <= micros(now)
}

// Begin is the intent to charge a renewal that is ripe: by a transaction with that
// id, which is made for it.
func (r *Record) Begin(transaction ledger.ID, now time.Time) Decision {
	d := next(r)
	d.Record.Number++
	d.Record.Last, d.Record.Looks = transaction, 0
	d.move(Renew)
	d.Due = micros(now.Add(firstLook))
	d.Outcome, d.Charge = true, true
	return d
}

// Hold lets a renewal that is ripe wait: its partner, or the organization, is not
// active.
func (r *Record) Hold(now time.Time) Decision {
	d := next(r)
	d.move(Wait)
	d.Due, d.Outcome = micros(now.Add(WaitGap)), true
	return d
}

// Look notes that nobody knows yet how the renewal under way ends. Where its
// transaction is not there at all, it is charged.
func (r *Record) Look(absent bool, now time.Time) Decision {
	d := next(r)
	gap := min(firstLook<<r.Looks, lastLook)
	if gap < lastLook {
		d.Record.Looks++
	}
	d.move(Await)
	d.Due = micros(now.Add(gap))
	d.Outcome, d.Charge = true, absent
	return d
}

// Heard decides on how the renewal that is the transaction ended; ok is false if
// that one is not under way.
func (r *Record) Heard(transaction ledger.ID, paid bool, now time.Time) (d Decision, ok bool) {
	if !r.State.UnderWay() || r.Last != transaction {
		return Decision{}, false
	}
	d = next(r)
	d.Outcome = true
	if paid {
		d.paid(now)
	} else {
		d.unpaid(now)
	}
	if s := d.Record.State; s == Active || s == PastDue {
		d.Due = d.Record.Next
	}
	return d, true
}

func (d *Decision) paid(now time.Time) {
	r := d.Record
	r.Renewals++
	r.Failures, r.Looks = 0, 0
	period := ledger.Micros(r.period().Microseconds())
	missed := max(0, (micros(now)-r.Anchor)/period)
	r.Anchor += (missed + 1) * period
	r.Next = r.Anchor
	d.move(Renewed)
}

func (d *Decision) unpaid(now time.Time) {
	r := d.Record
	last := int(r.Failures) >= len(retries)
	if r.Looks = 0; last {
		r.Next = micros(now) // no retry is left: the next attempt waits for Resume
	} else {
		r.Next = micros(now.Add(retries[r.Failures]))
	}
	r.Failures++
	d.move(Unpaid)
	if last && r.State == PastDue {
		d.move(Pause)
	}
}

// Pause stops renewals until Resume. The error is a *ledger.Refusal, Conflict for
// what is paused or cancelled.
func (r *Record) Pause(now time.Time) (Decision, error) {
	return r.asked(Pause, "subscription.Pause", now)
}

// Cancel ends the subscription for ever. The error is a *ledger.Refusal, Conflict
// for what is cancelled.
func (r *Record) Cancel(now time.Time) (Decision, error) {
	return r.asked(Cancel, "subscription.Cancel", now)
}

// Resume goes on with what is paused: its renewal, or the next attempt at one that was
// not paid, is when it was due, or at once where that is past. Later ones are when they
// would have been. The error is a *ledger.Refusal, Conflict for what is not paused and
// for a renewal that was tried MaxAttempts times.
func (r *Record) Resume(now time.Time) (Decision, error) {
	resumed := *r
	if r.State == Paused {
		if r.Failures >= MaxAttempts {
			return Decision{}, ledger.Refuse("subscription.Resume", ledger.Conflict, "the renewal was tried %d times and was not paid", MaxAttempts)
		}
		resumed.Next = max(resumed.Next, micros(now))
	}
	d, err := resumed.asked(Resume, "subscription.Resume", now)
	if err == nil && d.Record.State == Active {
		d.Due = d.Record.Next
	}
	return d, err
}

// asked is what a partner asks for, where the machine has it. A renewal under way
// is still looked after.
func (r *Record) asked(e Event, op string, now time.Time) (Decision, error) {
	if _, ok := Machine.Next(r.State, e); !ok {
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "the subscription is %s", r.Status())
	}
	d := next(r)
	d.move(e)
	if d.Record.State.UnderWay() {
		d.Due = micros(now.Add(firstLook))
	}
	return d, nil
}

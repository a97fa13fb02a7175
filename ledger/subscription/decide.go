package subscription

import (
	"time"

	"mizan/ledger"
)

// Delays, measured by the service's own clock.
const (
	// PartnerCheckInterval is the time after which an inactive partner is checked again.
	PartnerCheckInterval = time.Hour
	// firstInquiryDelay and maxInquiryDelay are the shortest and the longest delay between inquiries about the outcome of a
	// renewal. Normally the outcome is reported without an inquiry. Inquiries are needed for an outcome whose report was lost
	// in a crash.
	firstInquiryDelay = time.Minute
	maxInquiryDelay   = 24 * time.Hour
)

// MaxAttempts is the maximum number of attempts to charge one renewal. After the automatic retries, each further attempt needs
// a Resume.
const MaxAttempts = 255

// retryDelays are the delays before the first, second and third retry of an unpaid renewal. If the last retry fails, the
// subscription is paused.
var retryDelays = [...]time.Duration{24 * time.Hour, 3 * 24 * time.Hour, 5 * 24 * time.Hour}

// Decision describes how a command or a timer changes a subscription.
type Decision struct {
	Record        *Record // a changed copy of the record; the old record does not change
	Events        []ledger.Event
	Notifications []Notification // notifications to merchants, in the order of Events
	Due           ledger.Micros  // when the record is due next; 0: never
	MustRecord    bool           // the journal's writer must not refuse the decision, because a timer or a past event caused it
	Charge        bool           // charge the renewal with the record's LastTransaction, unless that transaction exists already
}

// Notification tells the merchant about one event.
type Notification struct {
	Index    int // the event's index in Decision.Events
	Event    Event
	Progress Progress // the subscription's progress just after the event
}

// newDecision returns a decision that has a copy of the record and changes nothing yet.
func newDecision(r *Record) Decision {
	copied := *r
	return Decision{Record: &copied}
}

func micros(instant time.Time) ledger.Micros { return ledger.MicrosOf(instant) }

// New returns the decision to create a subscription. Terms.Check must have accepted the terms. The initial payment pays for the
// first period, so the first renewal is due one period after the creation.
func New(id ledger.ID, partner int64, terms Terms, credential Credential, now time.Time) Decision {
	d := Decision{Record: &Record{ID: id, Partner: partner, Terms: terms, Terminal: credential.Terminal, Asset: credential.Asset}}
	r := d.Record
	r.State = Absent
	r.Anchor = micros(now.Add(r.period()))
	r.NextCharge = r.Anchor
	d.move(Create)
	d.Due = r.NextCharge
	return d
}

// IsRenewalDue tells whether a renewal must begin now.
func (r *Record) IsRenewalDue(now time.Time) bool {
	return (r.State == Active || r.State == PastDue) && r.NextCharge <= micros(now)
}

// BeginRenewal returns the decision to charge a renewal that is due. transaction is the id for the new transaction that will
// charge it.
func (r *Record) BeginRenewal(transaction ledger.ID, now time.Time) Decision {
	d := newDecision(r)
	d.Record.RenewalsBegun++
	d.Record.LastTransaction, d.Record.Inquiries = transaction, 0
	d.move(Renew)
	d.Due = micros(now.Add(firstInquiryDelay))
	d.MustRecord, d.Charge = true, true
	return d
}

// Postpone returns the decision to delay a due renewal by PartnerCheckInterval, because its partner or the organization is
// not active.
func (r *Record) Postpone(now time.Time) Decision {
	d := newDecision(r)
	d.move(WaitForPartner)
	d.Due, d.MustRecord = micros(now.Add(PartnerCheckInterval)), true
	return d
}

// ContinueWaiting returns the decision to keep waiting for the outcome of the renewal under way, and sets when the next inquiry
// is made. If the renewal's transaction does not exist, chargeMissing must be true; the decision then also charges the renewal.
func (r *Record) ContinueWaiting(chargeMissing bool, now time.Time) Decision {
	d := newDecision(r)
	delay := min(firstInquiryDelay<<r.Inquiries, maxInquiryDelay)
	if delay < maxInquiryDelay {
		d.Record.Inquiries++
	}
	d.move(WaitForOutcome)
	d.Due = micros(now.Add(delay))
	d.MustRecord, d.Charge = true, chargeMissing
	return d
}

// OnOutcome returns the decision that records the outcome of a renewal. transaction is the transaction that charges the
// renewal. If that renewal is not under way, ok is false.
func (r *Record) OnOutcome(transaction ledger.ID, paid bool, now time.Time) (d Decision, ok bool) {
	if !r.State.IsRenewing() || r.LastTransaction != transaction {
		return Decision{}, false
	}
	d = newDecision(r)
	d.MustRecord = true
	if paid {
		d.onPaid(now)
	} else {
		d.onUnpaid(now)
	}
	if state := d.Record.State; state == Active || state == PastDue {
		d.Due = d.Record.NextCharge
	}
	return d, true
}

func (d *Decision) onPaid(now time.Time) {
	r := d.Record
	r.Renewals++
	r.Failures, r.Inquiries = 0, 0
	period := ledger.Micros(r.period().Microseconds())
	missedPeriods := max(0, (micros(now)-r.Anchor)/period)
	r.Anchor += (missedPeriods + 1) * period
	r.NextCharge = r.Anchor
	d.move(Renewed)
}

func (d *Decision) onUnpaid(now time.Time) {
	r := d.Record
	isLastRetry := int(r.Failures) >= len(retryDelays)
	if r.Inquiries = 0; isLastRetry {
		r.NextCharge = micros(now) // no retry is left, so the next attempt waits for Resume
	} else {
		r.NextCharge = micros(now.Add(retryDelays[r.Failures]))
	}
	r.Failures++
	d.move(Unpaid)
	if isLastRetry && r.State == PastDue {
		d.move(Pause)
	}
}

// Pause returns the decision to stop renewals until Resume. If the subscription is paused or cancelled, the error is a
// *ledger.Refusal with the code Conflict.
func (r *Record) Pause(now time.Time) (Decision, error) {
	return r.onRequest(Pause, "subscription.Pause", now)
}

// Cancel returns the decision to end the subscription forever. If the subscription is cancelled already, the error is a
// *ledger.Refusal with the code Conflict.
func (r *Record) Cancel(now time.Time) (Decision, error) {
	return r.onRequest(Cancel, "subscription.Cancel", now)
}

// Resume returns the decision to continue a paused subscription. The pause does not move the next renewal, or the next attempt
// at an unpaid renewal; if it is overdue, it begins at once. Later renewals are not moved either. If the subscription is not
// paused, or if MaxAttempts attempts at the renewal have failed, the error is a *ledger.Refusal with the code Conflict.
func (r *Record) Resume(now time.Time) (Decision, error) {
	resumedRecord := *r
	if r.State == Paused {
		if r.Failures >= MaxAttempts {
			return Decision{}, ledger.Refuse("subscription.Resume", ledger.Conflict, "the renewal was tried %d times and was not paid", MaxAttempts)
		}
		resumedRecord.NextCharge = max(resumedRecord.NextCharge, micros(now))
	}
	d, err := resumedRecord.onRequest(Resume, "subscription.Resume", now)
	if err == nil && d.Record.State == Active {
		d.Due = d.Record.NextCharge
	}
	return d, err
}

// onRequest returns the decision on a partner's request. If the state machine does not allow the event, the error is a
// Conflict. If a renewal is under way, inquiries about its outcome continue.
func (r *Record) onRequest(e Event, op string, now time.Time) (Decision, error) {
	if _, ok := Machine.Next(r.State, e); !ok {
		return Decision{}, ledger.Refuse(op, ledger.Conflict, "the subscription is %s", r.Status())
	}
	d := newDecision(r)
	d.move(e)
	if d.Record.State.IsRenewing() {
		d.Due = micros(now.Add(firstInquiryDelay))
	}
	return d, nil
}

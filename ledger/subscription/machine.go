package subscription

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/fsm"
)

// State is a subscription's state in the journal. Merchants see Progress.Status instead.
type State string

// The states. A renewal is under way in the three states with Renewing in their names.
const (
	Absent            State = "none"   // before creation; never stored
	Active            State = "active" // the next renewal is not due yet
	Renewing          State = "renewing"
	PastDue           State = "past_due" // the last attempt at the renewal was not paid, and another will follow
	Paused            State = "paused"
	PausedRenewing    State = "paused_renewing"
	Cancelled         State = "cancelled"
	CancelledRenewing State = "cancelled_renewing"
)

// IsRenewing tells whether a renewal is under way: it has begun, and its outcome is not known yet.
func (s State) IsRenewing() bool {
	return s == Renewing || s == PausedRenewing || s == CancelledRenewing
}

// Event is the name of a subscription's event in the journal.
type Event string

// The events.
const (
	Create         Event = "create"
	Renew          Event = "renew" // the intent to charge
	WaitForPartner Event = "wait"
	WaitForOutcome Event = "await"
	Renewed        Event = "renewed"
	Unpaid         Event = "payment_failed"
	Pause          Event = "pause"
	Resume         Event = "resume"
	Cancel         Event = "cancel"
)

// notificationNames maps events to their names in notifications (specification, "Events").
var notificationNames = map[Event]string{
	Renewed: "subscription.renewed",
	Unpaid:  "subscription.payment_failed",
	Pause:   "subscription.paused",
	Resume:  "subscription.resumed",
	Cancel:  "subscription.cancelled",
}

// NotificationName returns the event's name in notifications. If merchants are not notified of the event, notified is false.
func (e Event) NotificationName() (name string, notified bool) {
	name, notified = notificationNames[e]
	return name, notified
}

// Step is a transition of the state machine: the next state, and why the subscription enters it.
type Step struct {
	To  State
	Why string
}

// Target implements fsm.Transition.
func (s Step) Target() State { return s.To }

// Reason implements fsm.Transition.
func (s Step) Reason() string { return s.Why }

// Machine is the state machine of subscriptions. testdata/machine.txt shows its transitions as a table.
var Machine = fsm.MustCompile(
	[]State{Absent, Active, Renewing, PastDue, Paused, PausedRenewing, Cancelled, CancelledRenewing},
	[]Event{Create, Renew, WaitForPartner, WaitForOutcome, Renewed, Unpaid, Pause, Resume, Cancel},
	fsm.Table[State, Event, Step]{
		Absent: {
			Create: {To: Active, Why: "a partner asked for it, on a payment that left a stored credential"},
		},
		Active: {
			Renew:          {To: Renewing, Why: "the intent to charge the stored credential"},
			WaitForPartner: {To: Active, Why: "the partner or its organization is not active: nothing is charged yet"},
			Pause:          {To: Paused, Why: "the partner asked for it: nothing is charged until it is resumed"},
			Cancel:         {To: Cancelled, Why: "the partner asked for it: nothing is charged any more"},
		},
		Renewing: {
			Renewed:        {To: Active, Why: "the renewal settled"},
			Unpaid:         {To: PastDue, Why: "the renewal moved no money"},
			WaitForOutcome: {To: Renewing, Why: "the renewal's outcome is unknown; the provider is asked again later"},
			Pause:          {To: PausedRenewing, Why: "the partner asked for it; the renewal's outcome is still recorded"},
			Cancel:         {To: CancelledRenewing, Why: "the partner asked for it; the renewal's outcome is still recorded"},
		},
		PastDue: {
			Renew:          {To: Renewing, Why: "the intent to charge the stored credential once more"},
			WaitForPartner: {To: PastDue, Why: "the partner or its organization is not active: nothing is charged yet"},
			Pause:          {To: Paused, Why: "the partner asked for it, or the last retry was not paid"},
			Cancel:         {To: Cancelled, Why: "the partner asked for it: nothing is charged any more"},
		},
		Paused: {
			Resume: {To: Active, Why: "the partner asked for it: the renewal that was due is the next one, with its attempts"},
			Cancel: {To: Cancelled, Why: "the partner asked for it: nothing is charged any more"},
		},
		PausedRenewing: {
			Renewed:        {To: Paused, Why: "the renewal that was under way settled"},
			Unpaid:         {To: Paused, Why: "the renewal that was under way moved no money"},
			WaitForOutcome: {To: PausedRenewing, Why: "the renewal's outcome is unknown; the provider is asked again later"},
			Resume:         {To: Renewing, Why: "the partner asked for it before the renewal had ended"},
			Cancel:         {To: CancelledRenewing, Why: "the partner asked for it; the renewal's outcome is still recorded"},
		},
		Cancelled: {},
		CancelledRenewing: {
			Renewed:        {To: Cancelled, Why: "the renewal that was under way settled"},
			Unpaid:         {To: Cancelled, Why: "the renewal that was under way moved no money"},
			WaitForOutcome: {To: CancelledRenewing, Why: "the renewal's outcome is unknown; the provider is asked again later"},
		},
	})

// IsLegalTransition tells whether a subscription in the state from may enter the state to by this event. For a subscription's
// first event, from is empty. The checker of the journal calls IsLegalTransition for each event.
func IsLegalTransition(event, from, to string) bool {
	if from == "" {
		from = string(Absent)
	}
	step, ok := Machine.Next(State(from), Event(event))
	return ok && string(step.To) == to
}

// move changes the record's state as the event requires, and adds the event to the decision. If merchants are notified of the
// event, move adds the notification too. The caller must change the record's other fields before the call, because the
// notification shows them. The caller must also have checked that the event is legal in this state.
func (d *Decision) move(e Event) {
	from := d.Record.State
	step, ok := Machine.Next(from, e)
	assert.That(ok, "subscription: %s in state %s", e, from)
	d.Record.State = step.To
	if from == Absent {
		from = ""
	}
	d.Events = append(d.Events, ledger.Event{Name: string(e), From: string(from), To: string(step.To)})
	if _, notified := e.NotificationName(); notified {
		d.Notifications = append(d.Notifications, Notification{Index: len(d.Events) - 1, Event: e, Progress: d.Record.Progress})
	}
}

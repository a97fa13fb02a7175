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
	PastDue           State = "past_due" // the last attempt at the renewal was not paid, and another attempt follows
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

// NotificationName returns the event's name in notifications; notified is false if merchants are not notified of the event.
func (e Event) NotificationName() (name string, notified bool) {
	name, notified = notificationNames[e]
	return name, notified
}

// Step is a transition in the machine's table: the next state and the reason.
type Step struct {
	To  State
	Why string
}

// Target implements fsm.Transition.
func (s Step) Target() State { return s.To }

// Reason implements fsm.Transition.
func (s Step) Reason() string { return s.Why }

// Machine is the subscription's state machine. testdata/machine.txt has its table of transitions as text.
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

// Legal tells whether the event may change a subscription's state from one to the other. from is empty for the first event.
// The checker calls Legal for each event of a journal.
func Legal(event, from, to string) bool {
	if from == "" {
		from = string(Absent)
	}
	step, ok := Machine.Next(State(from), Event(event))
	return ok && string(step.To) == to
}

// move changes the record's state by an event, and adds the event to the decision. If the event has a notification, move adds
// it too. The record's other fields must be changed before, because the notification shows them. An illegal event is a bug,
// because the caller must have checked the state.
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

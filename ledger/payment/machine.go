package payment

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/fsm"
)

// Event is what happens to a transaction.
type Event string

// The events.
const (
	Create    Event = "create"
	Refuse    Event = "refuse"
	Route     Event = "route"
	Authorise Event = "authorise"
	Process   Event = "process"
	Settle    Event = "settle"
	Decline   Event = "decline"
	Fail      Event = "fail"
	Await     Event = "await"
	Reverse   Event = "reverse"
	Return    Event = "return"
)

// Step is a cell of the machine.
type Step struct {
	To  Status
	Why string
}

// Target implements fsm.Transition.
func (s Step) Target() Status { return s.To }

// Reason implements fsm.Transition.
func (s Step) Reason() string { return s.Why }

// Machine is the transaction's state machine (specification, "States and
// transitions"); its report is testdata/machine.txt.
var Machine = fsm.MustCompile(
	[]Status{Absent, Created, New, Authorizing, Charging, Charged, Rejected, Failed, Reversed},
	[]Event{Create, Refuse, Route, Authorise, Process, Settle, Decline, Fail, Await, Reverse, Return},
	fsm.Table[Status, Event, Step]{
		Absent: {
			Create: {To: Created, Why: "a partner asked for it; nothing has moved"},
			Return: {To: Charged, Why: "the rail took settled money back: the return is its own transaction"},
		},
		Created: {
			Refuse: {To: Rejected, Why: "no credentials, no return address, no terminal, a limit or no funds"},
			Route:  {To: New, Why: "a terminal accepted it"},
		},
		New: {
			Authorise: {To: Authorizing, Why: "the intent to call the provider; a payout's money is held"},
		},
		Authorizing: {
			Process: {To: Charging, Why: "the provider has it; the rail still moves the money"},
			Decline: {To: Rejected, Why: "the provider refused; nothing moved"},
			Await:   {To: Authorizing, Why: "the provider does not know the reference yet; it is asked once more"},
		},
		Charging: {
			Settle:  {To: Charged, Why: "the provider confirmed"},
			Decline: {To: Rejected, Why: "the rail refused; nothing moved"},
			Fail:    {To: Failed, Why: "a processing error, or the call never arrived; nothing moved"},
			Await:   {To: Charging, Why: "no answer yet; the provider is asked again later"},
		},
		Charged: {
			Reverse: {To: Reversed, Why: "the rail took settled money back"},
		},
		Rejected: {},
		Failed:   {},
		Reversed: {},
	})

// move takes the record through an event and notes it. An illegal move is our
// own mistake: what may happen is decided before.
func (d *Decision) move(e Event, entry *ledger.Entry) {
	from := d.Record.Status
	step, ok := Machine.Next(from, e)
	assert.That(ok, "payment: %s in state %s", e, from)
	d.Record.Status = step.To
	if d.Events == nil {
		d.Events = make([]ledger.Event, 0, 3) // a create's, the longest
	}
	if from == Absent {
		from = ""
	}
	d.Events = append(d.Events, ledger.Event{Name: string(e), From: string(from), To: string(step.To), Entry: entry})
}

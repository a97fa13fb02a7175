package payment

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/fsm"
)

// Step is a transition of the state machine: the next status, and the reason.
type Step struct {
	To  Status
	Why string
}

// Target implements fsm.Transition.
func (s Step) Target() Status { return s.To }

// Reason implements fsm.Transition.
func (s Step) Reason() string { return s.Why }

type row = fsm.Row[Event, Step]

// Machine is the transaction's state machine (specification, "States and transitions"). testdata/machine.txt lists all
// its transitions.
var Machine = fsm.MustCompile(
	[]Status{
		Absent, Created, New, Authorizing, ActionRequired, Charging, PreAuthorized3DS, AuthRequired, Unknown, Cancelled,
		PaymentHeld, PayoutHeld, Charged, Refunding, Refunded, Rejected, Failed, Reversed,
	},
	events,
	fsm.Table[Status, Event, Step]{
		Absent: {
			Create: {To: Created, Why: "a partner asked for it; nothing has moved"},
			Return: {To: Charged, Why: "the rail took settled money back: the return is its own transaction"},

			SettleAttempt: {To: Rejected, Why: "money moved for an ended attempt after all: it is a transaction of its own, and its money is in suspense"},
		},
		Created: {
			Refuse:  {To: Rejected, Why: "no credentials, no return address, no terminal, a limit or no funds"},
			Route:   {To: New, Why: "a terminal accepted it"},
			Expire:  {To: Rejected, Why: "the payer's time on the hosted page is over"},
			Abandon: {To: Failed, Why: "the payer cancelled on the hosted page; nothing is under way"},
		},
		New: {
			Authorise: {To: Authorizing, Why: "the intent to call the provider; a payout's money is held"},
		},
		Authorizing: {
			Process:      {To: Charging, Why: "the provider has it; the rail still moves the money"},
			Decline:      {To: Rejected, Why: "the provider refused; nothing moved"},
			Prepare:      {To: Authorizing, Why: "the provider has given it an id: the intent to submit it under that id"},
			Reroute:      {To: New, Why: "the terminal refused and another one is tried; what was held is given back"},
			Fail:         {To: Failed, Why: "the call never left and there is no other terminal; nothing moved"},
			AwaitOutcome: {To: Authorizing, Why: "the provider does not know the reference yet; it is asked once more"},

			EndAttempt: {To: Created, Why: "the provider refused, or the call never left; nothing moved, and the payer has attempts left"},
		},
		ActionRequired: {
			Submit:        {To: Charging, Why: "the payer has acted: the provider is to go on"},
			RequireAction: {To: ActionRequired, Why: "the rail publishes another action"},
			Reissue:       {To: ActionRequired, Why: "what the rail had published has ended: it publishes it anew"},
			Decline:       {To: Rejected, Why: "the payer or the rail refused; nothing moved"},
			AwaitOutcome:  {To: ActionRequired, Why: "the payer has not acted yet; the provider is asked again later"},
			Cancel:        {To: ActionRequired, Why: "the intent to void it at the provider"},
			Lapse:         {To: ActionRequired, Why: "the payer's time is over: the intent to void it at the provider"},
			Void:          {To: Failed, Why: "the provider voided it; nothing moved"},
			Expire:        {To: Rejected, Why: "the provider voided what the payer let pass; nothing moved"},
			VoidFailed:    {To: ActionRequired, Why: "the provider did not void it: it is asked how the charge stands"},
			EndAttempt:    {To: Created, Why: "the payer or the rail refused; nothing moved, and the payer has attempts left"},
		},
		Charging:         atRailSteps(Charging),
		PreAuthorized3DS: atRailSteps(PreAuthorized3DS),
		AuthRequired:     atRailSteps(AuthRequired),
		Unknown:          atRailSteps(Unknown),
		Cancelled:        atRailSteps(Cancelled),
		PaymentHeld:      heldSteps(PaymentHeld),
		PayoutHeld:       heldSteps(PayoutHeld),
		Charged: {
			Refund:        {To: Charged, Why: "the intent to return money; it is held"},
			RefundPending: {To: Refunding, Why: "the rail takes its time, or has not said whether it returned the money"},
			RefundDone:    {To: Refunded, Why: "the rail returned the money"},
			RefundRefused: {To: Charged, Why: "the rail refused to return the money; it is held no more"},
			Reverse:       {To: Reversed, Why: "the rail took settled money back"},
		},
		Refunding: {
			AwaitOutcome:        {To: Refunding, Why: "the rail still returns the money; it is asked again later"},
			RefundDone:          {To: Refunded, Why: "the rail returned the money"},
			RefundRefused:       {To: Charged, Why: "the rail did not return the money; it is held no more"},
			RepeatRefundRefused: {To: Refunded, Why: "the rail did not return more than it had; the rest is held no more"},
		},
		Refunded: {
			Refund:              {To: Refunded, Why: "the intent to return more of what is left; it is held"},
			RefundPending:       {To: Refunding, Why: "the rail takes its time, or has not said whether it returned the money"},
			RefundDone:          {To: Refunded, Why: "the rail returned the money"},
			RepeatRefundRefused: {To: Refunded, Why: "the rail refused to return more; it is held no more"},
			Reverse:             {To: Reversed, Why: "the rail took back what was not refunded"},
		},
		Rejected: addLateSteps(Rejected, row{Correct: {To: Failed, Why: "the rail corrects itself: it had failed, not refused"}}),
		Failed:   addLateSteps(Failed, row{}),
		Reversed: {},
	})

// atRailSteps returns the steps out of a status in which the rail (the provider) is processing the charge.
func atRailSteps(status Status) row {
	r := row{
		Settle:        {To: Charged, Why: "the provider confirmed"},
		HoldPayment:   {To: PaymentHeld, Why: "two-phase: authorised, the money is held until commit or cancel"},
		HoldPayout:    {To: PayoutHeld, Why: "two-phase: authorised, the money is held until commit or cancel"},
		RequireAction: {To: ActionRequired, Why: "the provider asks the payer to act"},
		Decline:       {To: Rejected, Why: "the rail refused; nothing moved"},
		Fail:          {To: Failed, Why: "a processing error, or the call never arrived; nothing moved"},
		AwaitOutcome:  {To: status, Why: "no answer yet; the provider is asked again later"},
		Submit:        {To: status, Why: "the payer has acted: the provider is to go on"},
		Cancel:        {To: status, Why: "the intent to void it at the provider"},
		Void:          {To: Failed, Why: "the provider voided it; nothing moved"},
		VoidFailed:    {To: status, Why: "the provider did not void it: it is asked how the charge stands"},
		EndAttempt:    {To: Created, Why: "the rail refused; nothing moved, and the payer has attempts left"},
	}
	for railStatus, event := range intermediateEvents {
		if railStatus != status {
			r[event] = Step{To: railStatus, Why: "a state of the rail's own: not final"}
		}
	}
	if status != Charging {
		r[Process] = Step{To: Charging, Why: "the rail is past a state of its own"}
	}
	return r
}

// heldSteps returns the steps out of a status in which money is held until commit or cancel.
func heldSteps(status Status) row {
	return row{
		Commit:        {To: status, Why: "the intent to capture at the provider"},
		Capture:       {To: Charged, Why: "the provider captured; the rest of the hold is released"},
		CommitRefused: {To: status, Why: "the provider did not capture; the money is still held"},
		Cancel:        {To: status, Why: "the intent to void it at the provider"},
		Lapse:         {To: status, Why: "the hold is too old: the intent to void it at the provider"},
		Void:          {To: Failed, Why: "the provider voided it; the hold is released"},
		VoidFailed:    {To: status, Why: "the provider did not void it: it is asked how the charge stands"},
		AwaitOutcome:  {To: status, Why: "no answer yet; the provider is asked again later"},
		Settle:        {To: Charged, Why: "the provider says that it has captured"},
		Fail:          {To: Failed, Why: "the provider says that it holds nothing any more; the hold is released"},
	}
}

// addLateSteps adds to a row the steps for money that moves after its transaction was closed, and returns the row.
func addLateSteps(status Status, r row) row {
	r[SettleLate] = Step{To: status, Why: "money moved after all: it is in suspense"}
	r[RefundSuspense] = Step{To: status, Why: "the intent to return money in suspense"}
	r[SuspenseRefunded] = Step{To: status, Why: "the rail returned money in suspense"}
	r[SuspenseRefundFailed] = Step{To: status, Why: "the rail did not return it: it stays in suspense"}
	r[ReverseLate] = Step{To: status, Why: "the rail took money in suspense back: nothing is left to return"}
	r[AwaitOutcome] = Step{To: status, Why: "no answer yet; the provider is asked again later"}
	return r
}

// move applies an event to the record's status and adds the event to the decision. If the status does not allow the
// event, move panics, because the decision should have checked the status.
func (d *Decision) move(e Event, entry *ledger.Entry) {
	from := d.Record.Status
	step, ok := Machine.Next(from, e)
	if !ok { // assert.That is called only on failure, because passing e and from to it allocates
		assert.That(false, "payment: %s in state %s", e, from)
	}
	d.Record.Status = step.To
	if d.Events == nil {
		d.Events = make([]ledger.Event, 0, 3) // a create request causes three events, more than any other decision
	}
	if from == Absent {
		from = ""
	}
	d.Events = append(d.Events, ledger.Event{Name: string(e), From: string(from), To: string(step.To), Entry: entry})
}

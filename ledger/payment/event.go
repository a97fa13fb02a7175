package payment

// Event is an event of a transaction: an input of the state machine.
type Event string

// Events of a charge.
const (
	Create        Event = "create"       // a client has requested the transaction
	Refuse        Event = "refuse"       // refused before the provider was called
	Route         Event = "route"        // a terminal was found
	Authorise     Event = "authorise"    // the intent to call the provider
	Reroute       Event = "reroute"      // the terminal refused, and another terminal is tried
	Prepare       Event = "prepare"      // the provider knows the charge by an id of its own; the intent to submit it under this id
	Process       Event = "process"      // the provider is processing the charge and has not settled it yet
	RequireAction Event = "act"          // the provider asks the payer to act
	Reissue       Event = "reissue"      // the payer's action has expired, and the provider publishes it again
	Submit        Event = "submit"       // the payer has acted; the intent to inform the provider
	HoldPayment   Event = "hold_payment" // the payer's money is held
	HoldPayout    Event = "hold_payout"  // the money of a two-phase payout is held
	Settle        Event = "settle"       // the money has moved
	Decline       Event = "decline"      // the provider or the payer refused
	Fail          Event = "fail"         // the provider could not process the charge, or never received it
	AwaitOutcome  Event = "await"        // the outcome is not known yet; the provider is asked again later
)

// Events of a hosted payment's attempts.
const (
	EndAttempt    Event = "end_attempt"    // the provider refused an attempt, and the payer may try again
	Abandon       Event = "abandon"        // the payer has cancelled while no attempt was under way
	SettleAttempt Event = "settle_attempt" // creates a transaction for money that moved although the charge was refused
)

// Events that lead to intermediate states of a rail.
const (
	PassPreAuthorized3DS Event = "pass_pre_authorized_3ds"
	PassAuthRequired     Event = "pass_auth_required"
	PassUnknown          Event = "pass_unknown"
	PassCancelled        Event = "pass_cancelled"
)

// Events of operations on a charge. For each operation there is an event for the intent and one for each outcome.
const (
	Commit        Event = "commit"         // the intent to capture held money
	Capture       Event = "capture"        // the provider has captured the held money
	CommitRefused Event = "commit_refused" // the provider has not captured the held money

	Cancel     Event = "cancel"      // the intent to void, requested by a client
	Void       Event = "void"        // the provider has voided the charge, so the transaction fails
	VoidFailed Event = "void_failed" // the provider has not voided the charge
	Lapse      Event = "lapse"       // the intent to void, because the payer's time or the hold is over
	Expire     Event = "expire"      // the payer did nothing in time, and no money has moved

	Refund              Event = "refund"                 // the intent to refund
	RefundPending       Event = "refund_pending"         // the refund is not carried out yet, or its outcome is not known
	RefundDone          Event = "refund_done"            // the provider has refunded
	RefundRefused       Event = "refund_refused"         // the provider has refused the refund
	RepeatRefundRefused Event = "further_refund_refused" // the provider has refused a refund after earlier partial refunds
)

// Events that the provider causes without a request, and their consequences.
const (
	Reverse              Event = "reverse"          // the rail has taken settled money back
	Return               Event = "return"           // creates the return, a separate transaction for the money taken back
	Correct              Event = "correct"          // the rail corrects itself: a rejected transaction had in fact failed
	SettleLate           Event = "settle_late"      // money has moved although the transaction had ended
	RefundSuspense       Event = "give_back"        // the intent to return late money to the payer
	SuspenseRefunded     Event = "gave_back"        // the provider has returned late money
	SuspenseRefundFailed Event = "give_back_failed" // the provider has not returned late money
	ReverseLate          Event = "take_back_late"   // the rail has taken the late money back
)

var events = []Event{
	Create, Refuse, Route, Authorise, Reroute, Prepare, Process, RequireAction, Reissue, Submit, HoldPayment, HoldPayout, Settle, Decline, Fail, AwaitOutcome,
	EndAttempt, Abandon, SettleAttempt,
	PassPreAuthorized3DS, PassAuthRequired, PassUnknown, PassCancelled,
	Commit, Capture, CommitRefused, Cancel, Void, VoidFailed, Lapse, Expire,
	Refund, RefundPending, RefundDone, RefundRefused, RepeatRefundRefused,
	Reverse, Return, Correct, SettleLate, RefundSuspense, SuspenseRefunded, SuspenseRefundFailed, ReverseLate,
}

// MovesMoney tells whether the event may have a ledger entry, that is, whether it may move, hold or release money.
func (e Event) MovesMoney() bool {
	switch e {
	case Authorise, Reroute, HoldPayment, Settle, Decline, Fail, SettleAttempt, Capture, Void, Expire,
		Refund, RefundDone, RefundRefused, RepeatRefundRefused, Return, SettleLate, SuspenseRefunded, ReverseLate:
		return true
	}
	return false
}

// intermediateEvents maps each intermediate status of a rail to the event that leads to that status.
var intermediateEvents = map[Status]Event{
	PreAuthorized3DS: PassPreAuthorized3DS,
	AuthRequired:     PassAuthRequired,
	Unknown:          PassUnknown,
	Cancelled:        PassCancelled,
}

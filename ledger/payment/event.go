package payment

// Event is an event of a transaction: an input of the machine.
type Event string

// Events of a charge.
const (
	Create      Event = "create"
	Refuse      Event = "refuse"
	Route       Event = "route"
	Authorise   Event = "authorise"
	Reroute     Event = "reroute"
	Process     Event = "process"
	Act         Event = "act"
	Reissue     Event = "reissue"
	Submit      Event = "submit"
	HoldPayment Event = "hold_payment"
	HoldPayout  Event = "hold_payout"
	Settle      Event = "settle"
	Decline     Event = "decline"
	Fail        Event = "fail"
	Await       Event = "await"
)

// Events that lead to intermediate states of a rail.
const (
	PassPreAuthorized3DS Event = "pass_pre_authorized_3ds"
	PassAuthRequired     Event = "pass_auth_required"
	PassUnknown          Event = "pass_unknown"
	PassCancelled        Event = "pass_cancelled"
)

// Events of operations on a charge: first the intent, then its outcome.
const (
	Commit        Event = "commit"
	Capture       Event = "capture"
	CommitRefused Event = "commit_refused"

	Cancel     Event = "cancel"
	Void       Event = "void"
	VoidFailed Event = "void_failed"
	Lapse      Event = "lapse"
	Expire     Event = "expire"

	Refund               Event = "refund"
	RefundPending        Event = "refund_pending"
	RefundDone           Event = "refund_done"
	RefundRefused        Event = "refund_refused"
	FurtherRefundRefused Event = "further_refund_refused"
)

// Events that the provider causes without a request, and their consequences.
const (
	Reverse        Event = "reverse"
	Return         Event = "return"
	Correct        Event = "correct"
	SettleLate     Event = "settle_late"
	GiveBack       Event = "give_back"
	GaveBack       Event = "gave_back"
	GiveBackFailed Event = "give_back_failed"
)

var events = []Event{
	Create, Refuse, Route, Authorise, Reroute, Process, Act, Reissue, Submit, HoldPayment, HoldPayout, Settle, Decline, Fail, Await,
	PassPreAuthorized3DS, PassAuthRequired, PassUnknown, PassCancelled,
	Commit, Capture, CommitRefused, Cancel, Void, VoidFailed, Lapse, Expire,
	Refund, RefundPending, RefundDone, RefundRefused, FurtherRefundRefused,
	Reverse, Return, Correct, SettleLate, GiveBack, GaveBack, GiveBackFailed,
}

// intermediateEvents maps each intermediate status of a rail to the event that leads to that status.
var intermediateEvents = map[Status]Event{
	PreAuthorized3DS: PassPreAuthorized3DS,
	AuthRequired:     PassAuthRequired,
	Unknown:          PassUnknown,
	Cancelled:        PassCancelled,
}

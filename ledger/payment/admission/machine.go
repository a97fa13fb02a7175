package admission

import "mizan/ledger/fsm"

// State is the progress of a transaction's admission. The zero value means that no admission is
// under way.
type State string

// The states. If the provider refuses an admitted transaction, the states of failover (the search for another terminal)
// follow.
const (
	Routing   State = "routing"   // a terminal is searched
	Screening State = "screening" // the blocklist and the limits are checked
	Counting  State = "counting"  // the velocity limits count the attempt
	Funding   State = "funding"   // payout: the account is asked whether it has the funds
	Admitted  State = "admitted"  // the charge begins
	Rejected  State = "rejected"  // the rejection is stored
	Withdrawn State = "withdrawn" // the attempt ends, and nothing is stored

	Searching   State = "searching"   // failover: another terminal is searched
	Rescreening State = "rescreening" // failover: the limits of the other terminal are checked
	Recounting  State = "recounting"  // failover: the velocity limits of the other terminal count the attempt
	Rerouted    State = "rerouted"    // failover: the charge begins at the other terminal
	Exhausted   State = "exhausted"   // failover: no terminal is left
)

// Event is an input of the state machine: the result of a check or of a task.
type Event string

// The events.
const (
	Unacceptable    Event = "unacceptable"     // the request lacks something that every terminal needs
	TerminalFound   Event = "terminal_found"   // a terminal serves the request, and its circuit breaker is closed
	NoTerminal      Event = "no_terminal"      // no terminal serves the request, or all such terminals were tried
	ToCount         Event = "to_count"         // velocity limits apply, and must count the attempt
	Cleared         Event = "cleared"          // there is no objection
	Objected        Event = "objected"         // there is an objection; Admission.Reason says which
	Repeated        Event = "repeated"         // the txid is in use: the request repeats a stored transaction
	Uncountable     Event = "uncountable"      // the attempt could not be counted; Admission.CountError says why
	FundsGuarded    Event = "funds_guarded"    // the payout is limited by nothing but the account's funds
	RuledOut        Event = "ruled_out"        // the terminal's terms exclude the transaction
	WriterRefused   Event = "writer_refused"   // the writer refused, but has no objection to the transaction
	ProviderRefused Event = "provider_refused" // the terminal's provider refused, or the call was never sent
)

// Task is what the caller of this package has to do next.
type Task string

// The tasks. If a comment ends with "then" and the name of a method of Admission, the caller passes the result of the
// task to that method. The other tasks end the admission or pass a decision to the writer (package posting). If the
// writer refuses the decision, the caller calls OnObjection or OnWriterRefusal.
const (
	FindTerminal   Task = "find_terminal"   // call Find
	Screen         Task = "screen"          // call Screen
	Count          Task = "count"           // count the attempt, directly or in the account's actor, then OnVelocity
	Recount        Task = "recount"         // count the attempt in the account's actor, then OnVelocity
	AskAccount     Task = "ask_account"     // ask the account's actor whether it has the funds, then OnFunds
	Begin          Task = "begin"           // decide on the charge and pass the decision to the writer, or call CheckFunds
	Write          Task = "write"           // pass the decision to the writer
	Reject         Task = "reject"          // decide to reject because of Admission.Reason, and pass the decision to the writer
	Reroute        Task = "reroute"         // decide on the new terminal and pass the decision to the writer, or call ExcludeTerminal
	AnswerStored   Task = "answer_stored"   // respond with the stored transaction
	Withdraw       Task = "withdraw"        // return the error Admission.CountError
	UncountAttempt Task = "uncount_attempt" // uncount the attempt and return the writer's refusal
	KeepAnswer     Task = "keep_answer"     // make the first terminal's answer the final answer about the charge
)

// Step is a transition of the state machine: the next state, the caller's task, and the reason.
type Step struct {
	To  State
	Do  Task
	Why string
}

// Target implements fsm.Transition.
func (s Step) Target() State { return s.To }

// Reason implements fsm.Transition.
func (s Step) Reason() string { return s.Why }

// Machine is the state machine of an admission. testdata/machine.txt contains the same table as text, for reviews.
var Machine = fsm.MustCompile(
	[]State{
		Routing, Screening, Counting, Funding, Admitted, Rejected, Withdrawn,
		Searching, Rescreening, Recounting, Rerouted, Exhausted,
	},
	[]Event{
		Unacceptable, TerminalFound, NoTerminal, ToCount, Cleared, Objected, Repeated, Uncountable, FundsGuarded, RuledOut, WriterRefused,
		ProviderRefused,
	},
	fsm.Table[State, Event, Step]{
		Routing: {
			Unacceptable:  {To: Rejected, Do: Reject, Why: "no terminal could take it: it is no attempt, and no limit counts it"},
			TerminalFound: {To: Screening, Do: Screen, Why: "the first terminal by priority that serves it and whose circuit is closed"},
			NoTerminal:    {To: Screening, Do: Screen, Why: "it will be rejected, and is an attempt that limits count all the same"},
			Objected:      {To: Screening, Do: Screen, Why: "its amount is out of range at any terminal: none is sought, and limits count it"},
		},
		Screening: {
			ToCount:  {To: Counting, Do: Count, Why: "velocity limits count every attempt, whatever objects to it"},
			Cleared:  {To: Admitted, Do: Begin, Why: "nothing objects; the writer judges what is left, volumes and funds"},
			Objected: {To: Rejected, Do: Reject, Why: "no terminal, the block list or a limit on one payment"},
		},
		Counting: {
			Cleared:     {To: Admitted, Do: Begin, Why: "no velocity limit is exceeded and nothing else objects"},
			Objected:    {To: Rejected, Do: Reject, Why: "a velocity limit is exceeded, or something objected before"},
			Repeated:    {To: Withdrawn, Do: AnswerStored, Why: "its txid is taken, and it took no place in any limit"},
			Uncountable: {To: Withdrawn, Do: Withdraw, Why: "what was not counted is not let through, and nothing of it is stored"},
		},
		Funding: {
			Cleared:  {To: Admitted, Do: Write, Why: "the account can bear it at the moment; the writer has the last word"},
			Objected: {To: Rejected, Do: Reject, Why: "the account surely can't bear it: the writer is spared"},
		},
		Admitted: {
			FundsGuarded:    {To: Funding, Do: AskAccount, Why: "a payout under no volume: the account is asked before the writer"},
			Objected:        {To: Rejected, Do: Reject, Why: "the writer found a volume full, too little funds, or totals without room"},
			WriterRefused:   {To: Withdrawn, Do: UncountAttempt, Why: "the writer refused: its txid or key is taken, or its record was moved"},
			ProviderRefused: {To: Searching, Do: FindTerminal, Why: "nothing moved at the terminal: another one may take it"},
		},
		Rejected: {
			Objected:      {To: Rejected, Do: Reject, Why: "the writer found another reason"},
			WriterRefused: {To: Withdrawn, Do: UncountAttempt, Why: "the writer refused: its txid or key is taken, or its record was moved"},
		},
		Searching: {
			TerminalFound: {To: Rescreening, Do: Screen, Why: "the next terminal by priority that was not tried"},
			NoTerminal:    {To: Exhausted, Do: KeepAnswer, Why: "none is left, or as many as a record holds were tried"},
		},
		Rescreening: {
			ToCount:  {To: Recounting, Do: Recount, Why: "limits of this very terminal count what goes there"},
			Cleared:  {To: Rerouted, Do: Reroute, Why: "no limit objects at this terminal"},
			Objected: {To: Searching, Do: FindTerminal, Why: "a limit objects here and may not at the next terminal"},
		},
		Recounting: {
			Cleared:     {To: Rerouted, Do: Reroute, Why: "no velocity limit of this terminal is exceeded"},
			Objected:    {To: Searching, Do: FindTerminal, Why: "this terminal has taken too many"},
			Uncountable: {To: Exhausted, Do: KeepAnswer, Why: "what was not counted is not sent on"},
		},
		Rerouted: {
			RuledOut:      {To: Searching, Do: FindTerminal, Why: "no rate, or an amount that its fees or its asset can't take"},
			Objected:      {To: Searching, Do: FindTerminal, Why: "the writer found a volume full or too little funds at this terminal"},
			WriterRefused: {To: Exhausted, Do: KeepAnswer, Why: "the writer refused for another reason: the refusal is what is known"},
		},
		Withdrawn: {},
		Exhausted: {},
	},
)

// Package fsm defines state machines as data. A machine is a table that has a step for a state and an event, and
// Compile checks the whole table before use.
//
// Invariants of a compiled Machine:
//  1. Every state has a row; the row of a final state is empty.
//  2. Every target of a step is a state, every state is reachable from the initial one, and every event is used.
//  3. Every step has a reason, in one line.
//  4. If the table has no step for a state and an event, Next refuses the event. There is no default step.
//  5. A Machine never changes, so goroutines may share it.
//  6. The Report of a machine follows the order of the lists of states and events, so its text is always the same. A
//     report can be committed, so that changes of a machine can be reviewed.
//
// Callers: the packages of ledger with a state machine, such as ledger/payment.
//
// Callers build their machines as package variables with MustCompile, so a faulty table stops the program at start. A
// function in a step must not refer to the variable of the machine that contains the step, because Go refuses such a
// reference as an initialization cycle. Pass the function's inputs as arguments.
//
// Rejected: one design would be a switch over state and event. It was not chosen because missing pairs could not be
// seen or printed. Another design would call the step's function in this package. It was not chosen because this
// package would need to know the caller's records, commands and errors. A third design would allow several targets
// per step. It was not chosen because the table would contain code again, to select a target; instead the caller
// chooses between two events.
package fsm

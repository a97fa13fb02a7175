// Package fsm defines state machines as data. A machine is a table that says, for each state, which events are accepted and
// which step follows. Compile checks the whole table before it is used.
//
// Invariants of a compiled Machine:
//  1. Every state has a row; the row of a final state is empty.
//  2. Every step leads to a listed state, every state can be reached from the initial state, and every event is used.
//  3. Every step has a reason, which is a text of one line.
//  4. If the table has no step for a state and an event, Next refuses the event. There is no default step.
//  5. A Machine never changes, so goroutines may share it.
//  6. A machine's Report lists states and events in the order in which Compile was given them, so the text is always the
//     same. The report can be committed to version control, where reviewers see each change of the machine.
//
// Callers: those packages of ledger that define state machines, such as ledger/payment.
//
// Callers build their machines as package variables with MustCompile, so a faulty table stops the program at start. If a
// step contains a function, the function must not refer to the variable of the machine, because Go refuses that as an
// initialization cycle. Pass the function everything that it needs as arguments.
//
// Rejected: a switch over state and event, because missing pairs could be neither seen nor printed. Calling a step's
// function in this package was rejected because the package would need to know the caller's records, commands and errors.
// Several targets for one step were rejected because the table would then contain code that selects a target; instead, the
// caller chooses between two events.
package fsm

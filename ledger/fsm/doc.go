// Package fsm is a state machine as data: a table from state and event to step, which Compile
// checks as a whole before use.
//
// Invariants of a compiled Machine:
//  1. Every state has a row; the row of a final state is empty.
//  2. Every target is a state, every state is reachable from the initial one, and every
//     event is used.
//  3. Every step has a reason, in one line.
//  4. A pair of state and event that is not in the table is refused. There is no default step.
//  5. A Machine never changes, so goroutines may share it.
//  6. The Report of a machine is always the same text, in the order of the lists of
//     states and events, so it can be committed and its changes reviewed.
//
// Callers: the packages of ledger with a state machine, such as ledger/payment. Their machines are
// package variables built with MustCompile, so a faulty table stops the program at start.
//
// A step's function must not mention the machine variable that holds it, because Go refuses that
// as an initialization cycle. Pass what the function needs as arguments.
//
// Rejected: a switch over state and event (missing pairs cannot be seen or printed); calling
// the step's function here (this package would need to know the caller's records, commands and
// errors); several targets per step (the condition that selects one is code again, inside the
// table: the caller chooses between two events instead).
package fsm

// Package fsm is a state machine as data: a table from state and event to step, which Compile
// checks as a whole before use.
//
// Invariants of a compiled Machine:
//  1. Every state has a row; the row of a final state is empty.
//  2. Every target is a state, every state is reachable from the initial one, and every
//     event is used.
//  3. Every step has a reason, in one line.
//  4. A pair that is not in the table is refused. There is no default step.
//  5. A Machine never changes, so goroutines may share it.
//  6. The Report of a machine is always the same text, in the order of the lists, so it
//     can be committed and its changes reviewed.
//
// Callers: ledger/payment and ledger/directory, whose machines are package
// variables built with MustCompile; a faulty table stops the program at start.
//
// A step's function must not mention the machine variable that holds it, because Go refuses that
// as an initialization cycle. Pass what the function needs as arguments.
//
// Rejected: a switch over state and event (missing pairs cannot be seen or printed); calling
// the step's function here (the machine would need to know its owner's records, commands and
// errors); several targets per step (a guard in the table is code again: the owner chooses
// between two events instead).
package fsm

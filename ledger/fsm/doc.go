// Package fsm is a state machine as data: a table from state and event to the
// step taken, checked as a whole before it is used.
//
// Invariants of a compiled Machine:
//  1. Every state has a row, final states an empty one: nothing was forgotten.
//  2. Every target is a state, every state is reachable from the initial one,
//     and every event is used: nothing is left over.
//  3. Every step says why it exists, in one line.
//  4. A pair that is not in the table is refused. There is no default step.
//  5. A Machine never changes, so it may be shared.
//  6. Its Report is the same text each time, in the order of the lists, so it
//     can be committed and its difference reviewed.
//
// Callers: ledger/payment and ledger/directory, whose machines are package
// variables built with MustCompile; a faulty table stops the program at start.
//
// A step's function must not mention the machine variable that holds it: Go
// refuses that as an initialization cycle. Pass what it needs as arguments.
//
// Rejected: a switch over state and event (what is missing can't be seen or
// printed); running the step's function here (the machine would need to know
// records, commands and errors of its owner); several targets a step (a guard
// in the table is code again: its owner chooses between two events instead).
package fsm

// Package admission decides whether a transaction is taken on, and at which terminal: routing,
// block list, limits, velocity and failover, as a machine whose steps say what is to be done next.
//
// Invariants:
//  1. A transaction is held against the terminals, the block list, the limits and the funds, in
//     this order; the first that objects is the reason for its rejection.
//  2. Every attempt is counted by the velocity limits that bound it, once, whatever else objects.
//     Only an attempt that turns out to repeat a stored one is taken back.
//  3. Limits on volumes become Terms.Bounds, which the writer judges: nothing is reserved here.
//  4. Failover tries the other terminals one by one, each under its own limits, and never asks the
//     block list again: who pays has not changed. If none is left, the answer of the terminal that
//     refused stands.
//  5. A step that Machine does not have panics: it is an error of the caller.
//  6. Nothing here reads a clock or waits. What is looked up comes as an argument; what takes time
//     is a Task whose result is handed back.
//
// Callers: actors/payment, which carries the tasks out.
//
// Rejected: doing it in the actor, where the order of the checks was spread over as many
// functions as there are messages, and could only be tested through all of them.
package admission

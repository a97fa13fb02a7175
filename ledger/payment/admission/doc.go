// Package admission decides whether a transaction is accepted, and at which terminal: routing,
// blocklist, limits, velocity (the number of attempts) and failover. It is a state machine, and
// each step names the caller's next task.
//
// Invariants:
//  1. A transaction is checked against the terminals, the blocklist, the limits and the funds, in
//     this order; the first objection is the reason of its rejection.
//  2. A velocity limit that applies counts every attempt once, even if another check objects. An attempt is
//     taken out of the count again only if nothing of it is stored.
//  3. Limits on volumes become Terms.Bounds, which the writer (posting) checks: nothing is reserved here.
//  4. Failover tries the other terminals one by one, each under its own limits. It does not check
//     the blocklist again, because the payer is the same. If no terminal is left, the
//     first terminal's answer becomes the charge's final answer.
//  5. A method call for which Machine has no step panics: it is a bug of the caller.
//  6. Nothing here reads a clock or waits. Looked-up data are arguments; a slow step is a Task
//     whose result the caller hands back.
//
// Callers: actors/payment, which carries out the tasks.
//
// Rejected: the same logic in the actor. There the order of the checks was spread over as many
// functions as there are messages, and tests had to go through all of them.
package admission

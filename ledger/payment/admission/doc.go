// Package admission decides whether a transaction is accepted, and at which terminal (a connection to a payment
// provider). It covers routing, the blocklist, limits, velocity (the number of attempts) and failover (the change to
// another terminal). It is a state machine, and each step names the caller's next task.
//
// Invariants:
//  1. A transaction is checked against the terminals, the blocklist, the limits and the funds, in
//     this order; the first objection is the reason of its rejection.
//  2. A velocity limit that applies counts every attempt once, even if another check objects. The count is
//     undone only if nothing of the attempt is stored.
//  3. Limits on volumes become Terms.Bounds, which the writer (posting) checks. This package reserves nothing.
//  4. Failover tries the other terminals one by one, each under its own limits. It does not check
//     the blocklist again, because the payer is the same. If no terminal is left, the
//     first terminal's answer becomes the charge's final answer.
//  5. If Machine has no step for a method call, the call panics, because it is a bug of the caller.
//  6. No function of this package reads a clock or waits. Data that must be looked up are arguments. A slow step is a
//     Task, which the caller carries out and whose result it hands back.
//
// Callers: actors/payment, which carries out the tasks.
//
// Rejected: another design would have the same logic in the actor of package actors/payment. It was not chosen
// because an actor has one function for each message. The order of the checks would be spread over these functions,
// and a test would have to send all the messages.
package admission

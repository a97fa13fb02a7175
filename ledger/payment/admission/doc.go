// Package admission decides whether a transaction is accepted, and which terminal (a connection to a payment provider)
// processes it. The package covers routing, the blocklist, limits, velocity (the number of attempts) and failover (the
// change to another terminal). It is a state machine: each step names the task that the caller has to carry out next.
//
// Invariants:
//  1. The checks of a transaction have a fixed order: terminals, blocklist, limits, funds. The first objection is the
//     reason of the rejection.
//  2. Every velocity limit that applies counts each attempt once, even if another check objects. The count is undone only
//     if the attempt is not stored at all.
//  3. Volume limits (limits on a sum of amounts) are only translated to Terms.Bounds. The writer (posting) checks and
//     reserves the amounts; this package reserves nothing.
//  4. Failover tries the other terminals one by one, each under its own limits. It does not check the blocklist again,
//     because the payer is the same. If no terminal is left, the refusal by the first terminal is final.
//  5. If a method is called in a state in which Machine has no step for it, the method panics, because the caller has a
//     bug.
//  6. No function of this package reads a clock or waits. The caller looks up all data and passes them as arguments. Slow
//     work is a Task: the caller carries it out and passes the result back.
//
// Callers: actors/payment, which carries out the tasks.
//
// Rejected: the same logic in the actor of package actors/payment. An actor has one function for each message, so the
// order of the checks would be spread over these functions, and a test would have to send all the messages.
package admission

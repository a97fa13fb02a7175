// Package account decides at once, in memory, whether an attempt (a request to pay or to pay out) may begin. It
// runs two kinds of actors (objects that handle one message at a time). An account actor checks the funds of
// one partner's account (organization, path and asset); a partner is a merchant. A velocity actor, one per
// partner and environment, checks velocity limits, which count attempts in a sliding window of time.
//
// Invariants:
//  1. An account actor refuses a payout that the account certainly cannot cover. This early refusal costs no
//     write. The actor promises and reserves nothing: the journal's writer checks each payout again.
//  2. A velocity actor counts the attempts of its partner one after another, and before any part of an attempt
//     is stored. So no more attempts are admitted than the limit allows, even if they are concurrent. Refused
//     attempts count too.
//  3. An attempt that was made at time t counts until just before t + window. Attempts may arrive in any order.
//  4. If a velocity actor is new, or if one of its limits has changed, it reads past attempts from the store
//     through History (see payment.Request.AttemptedAt). Attempts that are not durable yet are only in the
//     actor's memory. So the actor is not stopped while any of its attempts counts, and it merges the attempts
//     in memory with the attempts that it reads. Only a panic loses the attempts in memory. After a panic, the
//     limit may admit too many attempts, but at most as many as were in progress.
//  5. If the history for an attempt cannot be read, the attempt is refused and not counted. If a counted
//     attempt turns out to be a repetition, it is uncounted (removed from the count).
//  6. Memory is bounded. For each subject (such as a card) a window holds at most as many attempts as the limit
//     allows, plus a fixed number of older attempts, which count again when others are uncounted. The window
//     holds no attempt that is more than two window lengths older than the newest. A subject is removed when
//     its attempts no longer count.
//  7. The usage of volume limits (limits on sums of amounts) is read from counters that the journal's writer
//     updates. The writer alone decides whether such a limit is exceeded.
//  8. An attempt is counted on its caller's goroutine, under the actor's lock, if three conditions hold: the
//     lock is free, the history is loaded, and every limit is far from its bound. Before the actor stops, it
//     forbids counting on other goroutines, because an attempt that is counted later would be lost.
//
// Callers: actors/payment and api (through their own interfaces), cmd/mizan.
//
// Rejected: Reserving funds in the actor's memory was not chosen because a reservation leaks when its caller
// dies, and is wrong after a restart. Stored counters for velocity limits were not chosen because they need a
// row for every attempt, limit and second. A window that is only in memory was not chosen because it would
// start empty after each restart and after each change of a limit.
package account

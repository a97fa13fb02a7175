// Package account runs the actors that admit attempts: one per partner's account (organization, path and asset)
// for its funds, and one per partner and environment for its velocity limits, which count attempts in a sliding
// window.
//
// Invariants:
//  1. An account actor refuses early a payout that the account certainly cannot cover, so that the refusal costs
//     no write. It promises and reserves nothing: the journal's writer checks each payout again.
//  2. A velocity actor counts the attempts of its partner one after another, each before any part of it is stored.
//     So exactly as many concurrent attempts are admitted as the limit allows. Refused attempts count too.
//  3. An attempt that was made at time t counts until t + window, exclusive. Attempts may arrive in any order.
//  4. Past attempts are read from the store (payment.Request.Attempted, by History) when an actor is
//     new or a limit has changed. Attempts that are not durable yet are in memory only, so the actor
//     stays while any of its attempts counts, and merges its memory with what it reads. Only a panic
//     loses them; then the limit admits too many attempts, at most as many as were in progress.
//  5. An attempt whose history cannot be read is refused and not counted. An attempt that proves to be
//     a repetition is uncounted.
//  6. Memory is bounded. For each subject (such as a card) a window holds at most the limit's count of attempts,
//     plus a slack for attempts that are uncounted. It holds no attempt that is more than two windows older than
//     the newest. A subject is removed when its attempts no longer count.
//  7. The usage of volume limits is read from counters that the journal's writer updates. The writer alone decides
//     whether such a limit is exceeded.
//  8. An attempt is counted on its caller's goroutine, under the actor's lock, if three conditions hold:
//     the lock is free, the history is loaded, and every limit is far from its bound. The actor forbids
//     this before it may stop, because a count made after that would be lost.
//
// Callers: actors/payment and api, through their own interfaces; cmd/mizan.
//
// Rejected: reservations in the actor's memory (they leak when a caller dies and are wrong after a restart);
// stored counters for velocity (a row per create, limit and second); a window in memory only (it would start
// empty after each restart and each changed limit).
package account

// Package account decides at once, in memory, whether an attempt (a request to pay or to pay out) may begin. It
// runs two kinds of actors (objects that handle one message at a time). An account actor checks the funds of
// one partner's account (organization, path and asset); a partner is a merchant. A velocity actor, one per
// partner and environment, checks velocity limits, which count attempts in a sliding window of time.
//
// Invariants:
//  1. An account actor refuses a payout that the account certainly cannot cover. This early refusal costs no
//     write. The actor promises and reserves nothing: the journal's writer checks each payout again.
//  2. A velocity actor counts the attempts of its partner one after another, each before any part of the
//     attempt is stored. So exactly as many concurrent attempts are admitted as the limit allows. Refused
//     attempts count too.
//  3. An attempt that was made at time t counts until t + window, exclusive. Attempts may arrive in any order.
//  4. A new actor, or one whose limit has changed, reads past attempts from the store
//     (payment.Request.Attempted, by History). Attempts that are not durable yet are only in the actor's
//     memory. So the actor stays while any of its attempts counts, and it merges its memory with what it reads.
//     Only a panic loses this memory. Then the limit admits too many attempts: at most as many as were in
//     progress.
//  5. An attempt whose history cannot be read is refused and not counted. An attempt that proves to be a
//     repetition is uncounted.
//  6. Memory is bounded. For each subject (such as a card) a window holds at most as many attempts as the limit
//     allows, plus a fixed reserve for attempts that may be uncounted (removed again). The window holds no
//     attempt that is more than two window lengths older than the newest. A subject is removed when its
//     attempts no longer count.
//  7. The usage of volume limits (limits on sums of amounts) is read from counters that the journal's writer
//     updates. The writer alone decides whether such a limit is exceeded.
//  8. An attempt is counted on its caller's goroutine, under the actor's lock, if three conditions hold: the
//     lock is free, the history is loaded, and every limit is far from its bound. Before the actor may stop, it
//     forbids such counting, because a later count would be lost.
//
// Callers: actors/payment and api (through their own interfaces), cmd/mizan.
//
// Rejected: Another design would reserve funds in the actor's memory; it was not chosen because a reservation
// leaks when its caller dies, and is wrong after a restart. Stored counters for velocity limits were not chosen
// because they need a row for every attempt, limit and second. A window that is only in memory was not chosen
// because it would start empty after each restart and after each change of a limit.
package account

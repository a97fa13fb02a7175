// Package account runs the actors that admit attempts: one a partner's account (organization, path
// and asset) for its funds, and one a partner and environment for its velocity limits, which count
// attempts in a sliding window.
//
// Invariants:
//  1. An account actor refuses early what the account surely can't bear, so that a hopeless payout
//     costs no write. It promises nothing and reserves nothing: the writer judges each guard again.
//  2. A velocity actor sees every attempt of its partner before anything of it is stored, one after
//     the other: of any number at once exactly as many are admitted as the limit says. Refused
//     attempts count too.
//  3. An attempt at t counts up to t + window, exclusive, by its own instant: attempts may come in any
//     order.
//  4. Past attempts are read from the store (payment.Request.Attempted, by History) when an actor is
//     new or a limit has changed. Those that are not durable yet are in memory only: the actor stays
//     while an attempt counts, and merges what it has with what it reads. Only a panic loses them;
//     then as many more are admitted as were under way.
//  5. An attempt whose past can't be read is refused and counted nowhere. One that turns out to be a
//     repetition is taken back.
//  6. Memory is bounded: of a subject, the limit's count and a slack for what is taken back, and
//     nothing two windows old; subjects without an attempt that counts are swept.
//  7. The usage of volumes is read from the writer's counters, which alone decide.
//  8. If the past is known and every limit is far from its bound, an attempt is counted on its caller's
//     goroutine, under the actor's lock, for which no caller waits. An actor closes this way before
//     it may be let go.
//
// Callers: actors/payment and api, through interfaces of their own; cmd/mizan.
//
// Rejected: reservations in the actor's memory, which leak when a caller dies and are wrong after a
// restart; velocity as stored counters, which would cost a row a create, a limit and a second; a
// window in memory alone, which would begin anew with each restart and each changed limit.
package account

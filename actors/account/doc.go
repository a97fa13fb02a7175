// Package account runs the actors that admit what partners want: one a partner's
// account (organization, path and asset) for its funds, and one a partner and
// environment for the velocity limits, which count attempts in a sliding window.
//
// Invariants:
//  1. An account actor refuses early what its account surely cannot bear, so
//     that a hopeless payout costs no write to find out. It never promises: the
//     writer judges each guard again with the Change itself.
//  2. It keeps no reservation: a crash, a race or its passivation can lose none.
//  3. A counting actor sees every attempt of its partner before anything of it is
//     stored, one after the other: of any number at once exactly as many are
//     admitted as the limit says. Refused attempts count too.
//  4. An attempt at t counts up to t + window, and no more at that instant. Those
//     that are decided at the same time may come in any order: their own instants
//     say what counts.
//  5. What was attempted is in the store (payment.Request.Attempted) and is read
//     from there, by History, when an actor is young or a limit has changed. What
//     is not durable yet is in memory only: the actor stays while an attempt
//     counts, and what it remembers is joined with what it reads. Only a panic
//     forgets it; then as many more are admitted as were under way.
//  6. An attempt whose past can't be read is refused and counts nowhere; one that
//     turns out to be a repetition is taken back.
//  7. Memory is bounded by what counts: of a subject a limit's count and a slack
//     for what is taken back, and nothing two windows old; subjects of which
//     nothing counts are forgotten when they are as many as the others, and once
//     a window.
//  8. Usage of volumes is read from the writer's counters, which alone decide.
//  9. Where the past is known and every limit is far from its bound, an attempt is
//     counted on its caller's goroutine, under the actor's lock, which nobody waits
//     for. An actor that may be let go has closed that way first.
//
// Callers: actors/payment and api, through interfaces of their own; cmd/mizan.
//
// Rejected: reservations in the actor's memory. They leak when a caller dies
// between admission and commit, and they are wrong after a restart. Rejected
// too: velocity as persisted counters, a row for each second and subject. Every
// create would write as many rows more as it has limits, most would never be
// read, and their edges would be seconds. A window in the actor alone would
// begin anew with each restart and with each limit that is set.
package account

// Package account runs one actor a partner's account (organization, path and
// asset): admission.
//
// Invariants:
//  1. An account actor refuses early what its account surely cannot bear, so
//     that a hopeless payout costs no write to find out. It never promises: the
//     writer judges each guard again with the Change itself.
//  2. It keeps no reservation: a crash, a race or its passivation can lose none.
//
// Callers: actors/payment, through an interface of its own.
//
// Rejected: reservations in the actor's memory. They leak when a caller dies
// between admission and commit, and they are wrong after a restart.
package account

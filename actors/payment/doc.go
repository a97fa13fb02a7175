// Package payment runs one actor a live transaction: it decides by
// ledger/payment, hands the Change to the writer, and only then calls the
// provider or answers.
//
// Invariants:
//  1. The intent to call a provider is durable before the call, with the
//     reference that the provider will know it by: the transaction's id. It is
//     submitted once; afterwards it is only inquired.
//  2. A card lives in the actor's memory from the request until the provider
//     has it, and is wiped; it is never part of a Change.
//  3. An unknown outcome leads to an inquiry, never to "failed". A call takes at
//     most the provider time-out in real time; then its outcome is unknown.
//  4. Nothing is inquired while a submission or another inquiry is under way: it
//     would hear "unknown reference" of a call that is about to arrive. For the
//     same reason a second "unknown reference" is never sought before its
//     instant, however often the process restarts.
//  5. A create answers with the first outcome, or after the create-wait with
//     the state reached; the loser of a race for a txid answers what the winner
//     answers.
//  6. An actor with a call under way, or with somebody waiting, is never let go.
//
// Callers: api (Create, Read), cmd (Start). The providers, the directory and
// the admission of accounts are interfaces, because siblings never import each
// other.
//
// Rejected: an actor a partner that serializes all its transactions; one slow
// provider would hold up every other payment.
package payment

// Package payment runs one actor a live transaction: it decides by
// ledger/payment, hands the Change to the writer, and only then calls the
// provider or answers.
//
// Invariants:
//  1. The intent to call a provider is durable before the call, with what the
//     provider will know it by: the transaction's id, and for what follows on a
//     charge an id of its own. It is submitted once; afterwards it is only
//     inquired, and submitted again, by the same name, only if the provider says
//     that it waits for it or, twice, that what follows on a charge, or a charge by a
//     stored credential, never arrived.
//  2. A card lives in the actor's memory until no provider needs it, and is
//     wiped. A rail that needs it in a later step has it kept sealed, without its
//     verification value, in a row beside the record that goes with the last step.
//  3. An unknown outcome leads to an inquiry, never to "failed". A call takes at
//     most the provider time-out in real time; then its outcome is unknown.
//  4. A transaction's providers are asked one thing at a time. An operation that
//     comes meanwhile waits for the answer, which may decide it; an inquiry of a
//     call that is about to arrive would hear "unknown reference". For the same
//     reason a second "unknown reference" is never sought before its instant,
//     however often the process restarts.
//  5. Whoever asks is answered with the first outcome, or after the create-wait
//     with the state reached; the loser of a race for a txid or an idempotency
//     key answers what the winner answers. The answer to a request with a key is
//     durable before it is given, and its repetition is given the same one.
//  6. An actor with a call under way, or with somebody waiting, is never let go.
//  7. Another terminal is tried only where the one before surely moved nothing:
//     it refused, or the call never left. What the writer refuses of that attempt
//     leaves the first terminal's answer standing.
//  8. A transaction that is not at its end wants to be woken at an instant, or
//     its actor expects an answer: nothing that gets lost leaves it waiting.
//  9. What a rail reports unasked while something else is under way is decided on
//     afterwards. What it says is bounded before it is stored.
//  10. A transaction is held against the terminals, the blocklist, the limits and
//     the funds, in this order, when its credentials are there. Every attempt is
//     counted by the velocity limits, once, whatever else speaks against it; only
//     what the store knew already is taken back.
//  11. What a volume limit has counted is in the record, so that its outcome gives
//     back, or notes as settled, exactly that: in the same window, for the same
//     subject.
//  12. A terminal whose provider is silent is passed over; a charge that its circuit
//     does not let through was never sent. The circuits are in memory, by real
//     time: they save time, and nothing is wrong if they are forgotten.
//  13. News of a transaction (Hint) only has its provider asked, and says nothing
//     itself. What an adapter has to know of a charge from earlier answers is in
//     the record, and goes with every question.
//  14. Of each transition of which a merchant is notified the record counts that it
//     was, or that there was nobody to notify: a lost notice is missed by that.
//  15. A renewal of a subscription is a create like any other once it is begun, with
//     the claim on its name in place of a txid's. A provider's token is sealed in the
//     record of the payment that it was given for, and opened for a renewal's call only.
//
// Callers: api (all of Service's methods), actors/account (Attempts), actors/subscription
// (Renew, Charge, Payment, OnRenewal), cmd (New). The providers, the directory,
// the admission of accounts and the sealing of cards are interfaces, because
// siblings never import each other.
//
// Rejected: an actor a partner that serializes all its transactions; one slow
// provider would hold up every other payment.
package payment

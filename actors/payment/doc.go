// Package payment runs one actor a live transaction: it decides by ledger/payment and
// ledger/payment/admission, hands the Change to the writer, and only then calls the provider or
// answers.
//
// Invariants:
//  1. The intent to call a provider is durable before the call, with the id that the provider knows it
//     by: the transaction's, or one of the operation's own. It is submitted once and afterwards only
//     inquired. It is submitted again, under the same id, only if the provider says that it waits for
//     it or, for an operation or a charge by a stored credential, twice that it never arrived.
//  2. A card stays in the actor's memory until no provider needs it, and is wiped. If a later step of
//     the rail needs it, it is encrypted in a row beside the record, without its verification value,
//     and removed with the last step.
//  3. An unknown outcome leads to an inquiry, never to "failed". A call takes at most the provider
//     time-out in real time; then its outcome is unknown.
//  4. A transaction's providers are asked one thing at a time. Operations, reports and updates that
//     come meanwhile wait for the answer, which may decide them. After "unknown reference" nothing is
//     asked before the due instant, however often the process restarts.
//  5. A caller gets the first outcome, or after the create-wait the state reached; the loser of a race
//     for a txid or an idempotency key gets the winner's. The answer to a request with a key is durable
//     before it is given, and a repetition gets the same one.
//  6. An actor with a call under way or a waiting caller is never let go. A transaction that is not at
//     its end has a due instant or its actor expects an answer: nothing that is lost leaves it waiting.
//  7. Admission runs when the credentials are there. Another terminal is tried only if nothing moved at
//     the one before: it refused, or the call was never sent.
//  8. What a volume limit has counted is in the record, so that the outcome gives back or settles
//     exactly that: in the same window, for the same subject.
//  9. What a rail says is bounded before it is stored. A provider's update only causes an inquiry.
//  10. Circuits are in memory, by real time: they save time, and nothing is wrong if they are lost.
//  11. The record counts the transitions of which the merchant was notified, or nobody could be: a
//     lost notice is found by that.
//  12. A renewal is a create with a claim on its name in place of a txid's. A provider's token is
//     encrypted in the record of its payment and decrypted for a renewal's call only.
//
// Callers: api (Service's methods), actors/account (Attempts), actors/subscription (Renew, Charge,
// Payment, OnRenewal), cmd (New). Siblings never import each other: the providers, the directory, the
// admission of accounts and the encryption of cards are interfaces.
//
// Rejected: one actor a partner for all its transactions; a slow provider would hold up the others.
package payment

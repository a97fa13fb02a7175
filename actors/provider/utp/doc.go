// Package utp is the provider adapter for another platform of the same protocol: for that platform the service
// is a merchant. A terminal's provider_params have the platform's address and our credentials there.
//
// The other platform's transaction determines the verdict of package actors:
//
//	charged, refunded, refunding, reversed   charged
//	rejected                                 refused, with its error_description
//	failed                                   failed
//	action_required                          action
//	payment_suspended, payout_suspended      held
//	anything else                            pending: the vocabulary is open
//
// Invariants:
//  1. A charge is created once, and its txid is our transaction's id, so even a repeated create yields the same
//     transaction there.
//  2. Each operation after the create is sent with its own id (Call.Request) as Idempotency-Key. Its outcome is
//     read from the transaction, because a platform that ignores the header may return the wrong first response.
//  3. Our transaction keeps the other platform's id of the charge and of its last finished refund
//     (Outcome.Meta), so the adapter has no memory of its own. A charge whose id never arrived is
//     searched by txid in the other platform's list; only if the whole list does not contain it, the charge
//     is unknown there. When the address of a payer's page has expired, a new one is read there.
//  4. A request without a connection has sent nothing. Once there is a connection, any failure leaves the outcome
//     unknown.
//  5. A response must be bounded, strict JSON and about the requested transaction; otherwise it does
//     not count. Unknown fields and statuses are skipped.
//  6. Redirects and proxies of the environment are ignored, and a terminal's own certificates are trusted for its
//     own address only.
//  7. No error, verdict or log line contains a key, card or body. A request's body is overwritten after it is
//     sent.
//  8. The other platform's terminal decides whether money is held first. If it charges at once what should be
//     held, the verdict is charged.
//  9. The payer's card is passed on. Of any other method only the type is passed on, because the
//     service keeps no more. So a method that needs further keys (direct_debit) is not accepted.
//
// Callers: cmd/mizan; actors/payment through the interfaces Provider and Examiner.
//
// Rejected: taking an outcome from a notification; it only says when to inquire, and the outcome is
// read over a connection that we have opened. Also rejected: repeating a create to find out its result;
// it would need the card's verification value, which is gone. Also rejected: a client generated from an
// API description; it would ignore the case of names, which matters in the protocol.
package utp

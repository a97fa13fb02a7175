// Package utp is the adapter for a provider (a system that moves money) that is another platform with the same
// protocol as this service. This service is a merchant of that platform. The provider_params of a terminal (a
// connection to a provider) have the platform's address and our credentials there.
//
// The status of the other platform's transaction (left) determines our verdict about the charge (right):
//
//	charged, refunded, refunding, reversed   charged
//	rejected                                 refused, with its error_description
//	failed                                   failed
//	action_required                          action
//	payment_suspended, payout_suspended      held
//	anything else                            pending: the vocabulary is open
//
// Invariants:
//  1. A charge is created once. Its txid (the merchant's id of a transaction) is our transaction's id, so even a
//     repeated create yields the same transaction there.
//  2. Each operation after the create is sent with its own id (Call.Request) as Idempotency-Key. The operation's
//     outcome is read from the state of the transaction, because the response to a repeated request may be outdated
//     or may be a refusal.
//  3. Our transaction keeps the other platform's ids of the charge and of its last finished refund (Outcome.Meta), so
//     the adapter has no memory of its own. A charge whose id never arrived is searched for by txid in the other
//     platform's list. The charge counts as unknown there only if the whole list does not contain it. When the
//     address of a payer's page has expired, a new address is read from the other platform.
//  4. If there was no connection, nothing was sent. Once there is a connection, any failure leaves the outcome
//     unknown.
//  5. A response counts only if its size is within the bound and it is strict JSON about the requested transaction.
//     Unknown fields and statuses are tolerated.
//  6. Redirects are not followed, proxies set in the environment are not used, and a terminal's own certificates
//     are trusted for its own address only.
//  7. No error, verdict or log line contains a key, card or body. A request's body is overwritten after it is
//     sent.
//  8. The other platform's terminal decides whether money is held before it is charged. If that terminal charges
//     at once an amount that we wanted to hold, the verdict is charged.
//  9. The payer's card is passed on. For any other payment method only its type is passed on, because the
//     service keeps no more. So a method that needs further fields (direct_debit) is not accepted.
//
// Callers: cmd/mizan; actors/payment through the interfaces Provider and Examiner.
//
// Rejected: another design would take an outcome from a notification. It was not chosen because an outcome counts
// only if it is read over a connection that we have opened; a notification only says when to inquire. A design that
// repeats a create to learn its result was not chosen because the create would need the card's verification value,
// which is gone. A client generated from an API description was not chosen because it would ignore the case of names,
// which matters in the protocol.
package utp

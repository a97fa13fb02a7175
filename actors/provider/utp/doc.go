// Package utp is the adapter for a provider (a system that moves money) that speaks the same protocol as this
// service: another platform of the same kind, where this service is a merchant. The provider_params of a
// terminal (a connection to a provider) contain the platform's address and our credentials there.
//
// The status of the transaction at the other platform (left) determines our verdict on the charge (right):
//
//	charged, refunded, refunding, reversed   charged
//	rejected                                 refused, with its error_description
//	failed                                   failed
//	action_required                          action
//	payment_suspended, payout_suspended      held
//	anything else                            pending: the vocabulary is open
//
// Invariants:
//  1. Each charge is created only once. The txid (the merchant's id of a transaction) that we send is our
//     transaction's id, so even a repeated create would return the same transaction.
//  2. Each later operation on the charge is sent with its own id (Call.Request) as Idempotency-Key. If the response
//     is a replay or a refusal, the outcome is read from the transaction's state, because the response may be
//     outdated or may only refuse a repetition.
//  3. The ids that the other platform gave the charge and its last finished refund are stored with our transaction
//     (Outcome.Meta), so the adapter has no memory of its own. If the charge's id never arrived, the adapter searches
//     the other platform's list for the txid. The charge counts as unknown there only if the whole list does not
//     contain it. If the address of a payer's page has expired, a new address is read from the other platform.
//  4. If no connection was made, nothing was sent. Once there is a connection, the outcome of a failed request is unknown.
//  5. A response is used only if its size is within the bound and it is valid JSON about the requested transaction,
//     without duplicate names. Unknown fields and statuses are tolerated.
//  6. Redirects are not followed, and proxies that the environment sets are not used. A terminal's own
//     certificates are trusted only for that terminal's address.
//  7. No error, verdict or log line contains an API key, a card or a body. A request's body is overwritten after it is sent.
//  8. The other platform's terminal decides whether money is held before it is charged. If we wanted to hold an
//     amount and that terminal charges it at once, the verdict is charged.
//  9. A payer's card is passed on to the other platform. Of any other payment method only the type is passed on, because
//     the service keeps nothing else. Therefore a method that needs further fields (direct_debit) is not accepted.
//
// Callers: cmd/mizan; actors/payment through the interfaces Provider and ReportInquirer.
//
// Rejected: another design would read the outcome from a notification. It was not chosen because an outcome is trusted only if
// it is read over a connection that we have opened; a notification only tells us when to inquire. Repeating a create to learn
// its result was not chosen because the create would need the card's verification value, which is no longer known. A client
// generated from an API description was not chosen because it would ignore the case of names, which matters in the protocol.
package utp

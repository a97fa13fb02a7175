// Package stripe is the adapter for Stripe: payments by card, and payouts to the account's own bank account. The provider_params of
// a terminal (a connection to a provider) contain the keys of the Stripe account. docs/stripe.md is the operator's guide.
//
// A charge is a PaymentIntent. It is made unconfirmed first, its id is stored with our transaction, and then it is confirmed. The
// status of the intent (left) determines our verdict on the charge (right):
//
//	succeeded                 charged
//	requires_capture          held
//	processing                pending
//	requires_action           action: a redirect to the bank's page, which leads back to our own page
//	requires_payment_method   refused, with the reason of last_payment_error
//	canceled                  failed
//	requires_confirmation     the confirmation has not arrived: the intent is cancelled, and the charge has failed; or, for a saved
//	                          card, it is confirmed again
//
// Invariants:
//  1. Nothing is charged before the intent's id is stored. An intent is charged at most once, whatever requests are repeated.
//  2. The outcome of a confirmation, capture, cancellation, refund or payout is unknown after 409, 429, 5xx and silence. It is then
//     read from the intent or from the whole list of refunds or payouts, never from Stripe's search, which is late.
//  3. Each request that changes something has an idempotency key that is derived from stored ids. A refund or payout whose key may
//     be older than 23 hours is not sent; the keys of all other requests are at most an hour old.
//  4. A request is repeated within a call, with the same key, only after 429, which says that nothing was executed, and by net/http
//     if a kept connection breaks before an answer.
//  5. An answer is used only if it is about the requested charge: its metadata has our reference.
//  6. No card is sent to Stripe unless raw_cards allows it. The card is only in the body of one request, which is overwritten after
//     it is sent. No error, verdict or log line contains a key, a card or a text of Stripe.
//  7. A notification only leads to an inquiry. Events are also polled.
//  8. The memory holds only connections and what the polls have covered, so several nodes may run the adapter.
//
// Callers: cmd/mizan; actors/payment through the interfaces Provider, ReportInquirer and NotificationReader.
//
// Rejected: making and confirming the intent in one request, because after a lost answer only a search could find the intent.
// Repeating a request under its idempotency key to learn its result, because a confirmation would need the payer's address again,
// and because Stripe answers with a stored failure for a day. The retries of stripe-go, because they also repeat requests whose
// outcome is unknown.
package stripe

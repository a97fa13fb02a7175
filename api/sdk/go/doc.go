// Package mizan is a client of the Mizan API for merchants: payments, refunds, payouts, subscriptions, payment
// links, and the notifications that the service sends.
//
//	client, err := mizan.New(mizan.Config{URL: "https://pay.example", APIKey: key, OrganizationID: organization})
//	payment, err := client.CreateTransaction(ctx, mizan.TransactionCreate{ … })
//
// Invariants:
//  1. A write has an Idempotency-Key. All attempts of the write have the same key and the same bytes, so the
//     service carries the write out only once.
//  2. A request is repeated only if no response arrived, or if its status is 408, 429, 500, 502, 503 or 504. If a
//     request is refused with any other status, it is never repeated.
//  3. Money is an Amount, which holds minor units exactly. No amount is ever a floating-point number.
//  4. A notification of a transaction is returned only if it is signed with a known secret, and the signed time is
//     at most five minutes from now. A notification of the subscription stream is not signed. It is returned as a
//     mere hint, which the program must not trust.
//  5. The API key is sent only to Config.URL, because redirects are not followed.
//
// The files whose names end in _generated.go are made from the description of the API by `make sdk`. Package
// mizan needs only the standard library.
//
// Callers: programs of merchants, such as docs/examples/shop.
//
// Rejected: Methods in groups, such as client.Transactions.Create, were considered. They were not chosen because
// there are few operations, and the completion of an editor finds them in a flat list as well.
package mizan

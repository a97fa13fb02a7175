// Package mizan is a client of the Mizan API for merchants: payments, refunds, payouts, subscriptions, payment links, and
// the notifications that the service sends.
//
//	client, err := mizan.New(mizan.Config{URL: "https://pay.example", APIKey: key, OrganizationID: organization})
//	payment, err := client.CreateTransaction(ctx, mizan.TransactionCreate{ … })
//
// Invariants:
//  1. A write has an Idempotency-Key, and all its attempts have the same key and the same bytes. So it is carried out once.
//  2. A request is repeated only if no response came, or if its status is 408, 429, 500, 502, 503 or 504. What was refused is
//     never repeated.
//  3. Money is an Amount, which holds minor units exactly. No amount is ever a floating-point number.
//  4. A notification is returned only if its owner has signed it within five minutes. A body of the subscription stream,
//     which nobody signs, is returned as a hint.
//  5. The key is sent to Config.URL only: redirects are not followed.
//
// The files whose names end in _generated.go are made from the description of the API by `make sdk`. Package mizan needs only
// the standard library.
//
// Callers: programs of merchants; docs/examples/shop is one.
//
// Rejected: methods in groups, such as client.Transactions.Create. There are few operations, and a flat list is found by
// completion as well.
package mizan

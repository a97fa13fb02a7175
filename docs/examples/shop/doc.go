// Command shop is an example of a shop that is paid by hosted payments: a cart, the way to the payment page and back, a receiver
// of notifications, and an office with refunds. Orders are in memory: a real shop stores an order before it creates the payment.
//
// Invariants:
//  1. An order is paid only if the API says so: the return address and notifications only make the shop read the transaction.
//  2. A notification is verified, and its event is processed once.
//  3. A repeated request makes no second payment and no second refund.
//
// Callers: people who try it or copy it.
package main

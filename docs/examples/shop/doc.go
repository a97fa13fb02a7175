// Command shop is an example of a shop that is paid by hosted payments: it has a cart, sends the payer to the payment page
// and receives him back, receives notifications, and has a page for the shop's staff (the office), who can refund orders. The
// example keeps orders in memory only; a real shop stores an order before it creates the payment.
//
// Invariants:
//  1. An order is paid only if the API says so. A payer's return and a notification only make the shop read the
//     transaction.
//  2. A notification is verified, and its event is processed once.
//  3. A repeated request makes no second payment and no second refund.
//
// Callers: people who try the example or copy it.
package main

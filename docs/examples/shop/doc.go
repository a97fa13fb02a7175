// Command shop is an example of a shop that uses hosted payments. It has a cart, sends the payer to the payment page, shows the
// order when the payer returns, receives notifications, and has a page for the shop's staff (the office), who can refund
// orders. The example keeps orders in memory only; a real shop stores an order before it creates the payment.
//
// Invariants:
//  1. An order is paid only if the API says so. When a payer returns or a notification arrives, the shop only reads the
//     transaction from the API.
//  2. Every notification is verified, and every event is processed only once.
//  3. Repeating a request causes no second payment and no second refund.
//
// Callers: people who try the example or copy it.
package main

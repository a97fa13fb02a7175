// Package stripestub is a stateful stand-in for Stripe's API, for tests. A Stub is an HTTP server on loopback that behaves as
// api.stripe.com does for what a payment adapter uses: payment methods, customers, payment intents with 3-D Secure, charges,
// refunds, payouts, disputes, balance transactions, events and webhooks. The behaviour is the one that Stripe documents; no
// behaviour exists for the sake of one test. The state is in memory.
//
// Invariants:
//  1. One lock guards all state. Each call sees and leaves a consistent state, even if its answer is lost.
//  2. A call is checked in Stripe's order: key, idempotency key, parameters, then execution. A call that fails before its
//     execution changes nothing, and its idempotency key stays free. The answer of an execution is stored under the key for 24
//     hours and replayed byte for byte.
//  3. The clock that is passed in is the only source of dates, and decides what is due: balances that become available, refunds
//     that fail later, disputes that open, keys that are forgotten, objects that the search finds. Only the signature of a
//     webhook has the machine's time, because its receiver compares it with that time.
//  4. Faults and deliveries happen only where a test has asked for them. Nothing is delivered by itself.
//  5. Every movement of money is a balance transaction, and is found under the reference in the metadata (Movements).
//  6. routes is the only list of paths and parameters. Every other path is 404 and every other parameter is 400. The tests
//     compare the list and the shapes of all answers with stripe-mock, Stripe's own description of its API.
//
// Differences from Stripe: amounts settle in the currency of the charge; there are no limits of rate or amount per account;
// only cards pay; radar, Connect, invoices, setup intents and Stripe.js are missing.
//
// Callers: tests of actors/provider/stripe, and of reconciliation; never code outside tests.
//
// Rejected: stripe-mock alone. It keeps no state, so no payment is ever declined, captured or refunded there; it proves paths,
// parameters and types only. Recorded answers of Stripe were not chosen because a test of lost answers and doubles needs a
// server that remembers what it has done.
package stripestub

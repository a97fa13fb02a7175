// Package payments serves the HTTP routes of transactions (payments, payouts and refunds): create and read, list and
// aggregate, refund, cancel and capture. It also serves balances, subscriptions, and the updates that providers send.
//
// Invariants:
//  1. Handlers read through a posting.View, which shows the state that was durable at one moment. Handlers write only
//     through actors.
//  2. A page of the list reads a bounded number of records, regardless of its filter. An aggregate (a report of sums)
//     may read all records of an organization. So the number and the duration of aggregates are bounded, and
//     organizations take turns.
//  3. The address of a payer's page is shown only to a partner (merchant) that reads its own transaction with its API
//     key.
//  4. A provider's update is authenticated before it is parsed. If the authentication fails, the work and the
//     response are the same, whatever the reason is. An accepted update only makes the service ask the provider for
//     the transaction's state.
//
// Callers: api.
//
// Rejected: Another design would update the aggregates with every payment. It was not chosen because every payment
// would bear the cost.
package payments

// Package subscription runs recurring payments. Each subscription is an actor (an object that handles one message
// at a time). The actor makes decisions with ledger/subscription, and submits the Change (all that a decision makes
// durable) to the journal's writer. The actor charges a renewal, or answers, only after the Change is durable.
//
// Invariants:
//  1. Before anything is charged, the intent to renew is durable, with the renewal's number and the id of its
//     future transaction. The transaction claims the renewal's unique key (actors.Renewal.Key), so there is
//     only one transaction even if the renewal is begun several times. No partner's request can claim this
//     key, because its scope is neither a partner's nor the administration's, and it is not a txid.
//  2. A renewal is an ordinary payment: actors/payment checks limits and the block list, routes the payment
//     (only to the terminal of the initial payment), and handles fees, ledger entries and notifications. This
//     package moves no money and never sees the provider's token for a card.
//  3. The payment's actor reports the end of a renewal at least once. If a crash loses the report, this package
//     learns the outcome by reading the transaction, at growing intervals. Until then it charges nothing else.
//  4. An event and its notification (on the channel posting.Stream) are in the same Change. The notification
//     contains every field that may change later, so every attempt to send it sends the same bytes.
//  5. If a partner's write request has an Idempotency-Key, the write's Change also contains the claim of
//     the key and the reply. A repeated request gets exactly this reply.
//  6. If a request contains the id of another partner's subscription or initial payment, it is refused as if the id
//     were unknown.
//
// Callers: api (Service's methods), actors/notifier (NotificationWriter), snapshots (Decode), cmd/mizan (New).
//
// Rejected: In another design a goroutine of the pool for slow work would wait for the end of the payment. It
// was not chosen because the waiting goroutines would leave no room in the pool for the provider calls that
// they wait for. Deriving a transaction's id from the renewal's number was not chosen because the writer relies
// on random ids. Importing the packages of payments and the directory was not chosen because the packages in
// actors never import each other; this package declares interfaces for them.
package subscription

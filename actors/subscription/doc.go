// Package subscription runs recurring payments, with one actor (an object that handles one message at a time)
// per subscription. The actor decides with ledger/subscription and submits the Change (all that the decision
// makes durable) to the journal's writer. Only when the Change is durable does the actor charge a renewal, or
// answer.
//
// Invariants:
//  1. A renewal's intent, with its number and the id of its future transaction, is durable before anything is
//     charged. The transaction claims the renewal's unique key (actors.Renewal.Key), so there is one
//     transaction even if the renewal is begun several times. No partner's request can claim this key. The
//     key's scope is neither a partner's nor the administration's, and the key is not a txid.
//  2. A renewal is an ordinary payment. actors/payment handles its limits, block list, routing (to the terminal
//     of the initial payment only), fees, entries and notifications. This package moves no money and never sees
//     the provider's token for a card.
//  3. The payment's actor reports the end of a renewal at least once. If a kill loses the report, this package
//     finds the end by reading the transaction, at growing intervals. Until then it charges nothing else.
//  4. An event and its notification (on the channel posting.Stream) are in the same Change. The notification
//     has every field that may change later, so every attempt to send it has the same bytes.
//  5. A partner's write with an Idempotency-Key stores a claim of the key and the reply in the write's own
//     Change. A repeated request gets exactly this reply.
//  6. The id of another partner's subscription or initial payment is refused like an unknown one.
//
// Callers: api (Service's methods), actors/notifier (NotificationWriter), snapshots (Decode), cmd/mizan (New).
//
// Rejected: Waiting for the end of the payment in the pool for slow work was considered; it was not chosen
// because the waits would take the places of the provider calls that they wait for. Deriving a transaction's id
// from the renewal's number was not chosen because the writer relies on random ids. Importing the packages of
// payments and the directory was not chosen because siblings never import each other; they are interfaces here.
package subscription

// Package subscription runs recurring payments: one actor per subscription. The actor decides with
// ledger/subscription and submits the Change (all that the decision makes durable) to the writer. Only when the
// Change is durable does the actor start a renewal's charge, or answer.
//
// Invariants:
//  1. A renewal's intent, with its number and the id of its future transaction, is durable before
//     anything is charged. The transaction claims the renewal's key (actors.Renewal.Key), which is unique, so there
//     is one transaction however often the renewal is begun. No partner's request can claim the key: its scope is
//     neither a partner's nor the administration's, and the key is not a txid.
//  2. A renewal is an ordinary payment: limits, block list, routing (to the terminal of the initial payment
//     only), fees, entries and notifications are those of actors/payment. This package moves no money and never sees
//     the provider's token for a card.
//  3. The payment's actor reports the end of a renewal at least once. If a kill loses the report, this package
//     finds the end by reading the transaction, at growing intervals. Until then it charges nothing else.
//  4. An event and its notification (on the channel posting.Stream) are in the same Change. The notification has
//     every field that may change later, so every attempt to send it has the same bytes.
//  5. A partner's write with an Idempotency-Key stores a claim of the key in the write's own Change, together with
//     the reply: a repeated request gets exactly that reply.
//  6. The id of another partner's subscription or initial payment is refused like an unknown one.
//
// Callers: api (Service's methods), actors/notifier (NotificationWriter), snapshots (Decode), cmd/mizan (New).
// Payments and the directory are interfaces, because siblings never import each other.
// Rejected: waiting in the pool for slow work until the payment ends; the waits would take the places of the
// provider calls that they wait for. Also rejected: a transaction id derived from the renewal's number,
// because the writer relies on random ids.
package subscription

// Package subscription runs recurring payments: one actor per subscription. It decides with ledger/subscription,
// submits the Change to the writer, and only then starts a renewal's charge or answers.
//
// Invariants:
//  1. A renewal's intent, with its number and the id of its future transaction, is durable before
//     anything is charged. The transaction claims the renewal's key (actors.Renewal.Key), so there is
//     one transaction however often it is begun. No partner's request can take the claim: its scope is
//     neither a partner's nor the administration's, and it is not a txid.
//  2. A renewal is an ordinary payment: limits, block list, routing (to the terminal of the initial payment
//     only), fees, entries and notifications are those of actors/payment. This package moves no money and sees no
//     token.
//  3. The payment's actor reports the end of a renewal at least once. If a kill loses the report, this package
//     finds the end by reading the transaction, at growing intervals. Until then it charges nothing else.
//  4. The notification of an event is in the event's own Change (posting.Stream), with every field that may
//     change later, so every attempt to send it has the same bytes.
//  5. A partner's write with an Idempotency-Key claims it in its own Change, together with its reply: a repeated
//     request gets exactly that reply.
//  6. The id of another partner's subscription or initial payment is refused like an unknown one.
//
// Callers: api (Service's methods), actors/notifier (NotificationWriter), snapshots (Decode), cmd/mizan (New).
// Payments and the directory are interfaces, because siblings never import each other.
// Rejected: waiting on the pool for the payment's result; the waits would take the places of the
// provider calls that they wait for. Also rejected: a transaction id derived from the renewal's number,
// because the writer relies on random ids.
package subscription

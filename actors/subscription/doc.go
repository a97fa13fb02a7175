// Package subscription runs recurring payments: one actor a subscription. It decides by
// ledger/subscription, hands the Change to the writer, and only then has a renewal charged or answers.
//
// Invariants:
//  1. A renewal's intent, with its number and the id of its future transaction, is durable before
//     anything is charged. The transaction claims that name (actors.Renewal.Key), so there is one,
//     however often it is begun. No partner's request can take the claim: its scope is neither a
//     partner's nor the administration's, and it is no txid.
//  2. A renewal is a payment like any other: limits, block list, routing (to the terminal of the
//     initial payment only), fees, entries and notifications are those of actors/payment. This package
//     moves no money and sees no token.
//  3. The payment's actor reports how a renewal ended, at least once. If a kill has lost the report, it
//     is found by looking at the transaction, at growing intervals. Until then nothing else is charged.
//  4. The notification of an event is in the event's own Change (posting.Stream), with every field that
//     may change later. So every attempt to send it has the same bytes.
//  5. A partner's write with an Idempotency-Key claims it in its own Change, together with its answer: a
//     repetition gets exactly that.
//  6. A foreign id and a foreign initial payment are answered as unknown ones.
//
// Callers: api (Service's methods), actors/notifier (NotificationWriter), snapshots (Decode), cmd/mizan
// (New). Payments and the directory are interfaces, because siblings never import each other.
//
// Rejected: waiting for the payment's answer on the pool, where the waits would take the places of the
// provider calls that they wait for; a transaction id derived from the renewal's number, because the
// writer relies on random ids.
package subscription

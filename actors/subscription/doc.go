// Package subscription runs recurring payments: one actor a subscription that
// something happens to. It decides by ledger/subscription, hands the Change to the
// writer, and only then has a renewal charged or answers.
//
// Invariants:
//  1. A renewal's intent, with its number and the id of the transaction that it is
//     to be, is durable before anything is charged. The transaction claims that
//     name (actors.Renewal.Key), so it is one however often it is begun: twice at
//     once, after a panic, after a kill. Nothing else can have the claim: its scope
//     is neither a partner's nor the administration's, and it is no txid, which a
//     partner could have used first.
//  2. A renewal is a payment like any other: limits, the blocklist, routing (to the
//     terminal of the initial payment only), fees, entries and notifications are
//     those of actors/payment. This package moves no money and sees no token.
//  3. How a renewal ended is heard from the payment's actor, at least once. What a
//     kill has lost is found by looking at the transaction, later and later. While
//     nobody knows, nothing else is charged.
//  4. What is told of an event is in its own Change (posting.Stream), with all that
//     changes of the subscription as it was just then; the rest of the record never
//     changes. So every attempt to tell has the same bytes.
//  5. A partner's write with an Idempotency-Key claims it in its own Change, with
//     the standing that it was answered with: the repetition shows just that.
//  6. A foreign id, and a foreign initial payment, answer as unknown ones.
//
// Callers: api (Service's methods), actors/notifier (Teller), snapshots (Decode),
// cmd/mizan (New). Payments and the directory are interfaces, because siblings
// never import each other.
//
// Rejected: asking payments and waiting for the answer on the pool. Those who wait
// would take the places of the provider calls that they wait for. Rejected too: a
// transaction id derived from the renewal's number. Ids of transactions are random
// everywhere else, and the writer relies on it.
package subscription

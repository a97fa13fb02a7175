// Package payment decides what happens to a transaction, a payment or a payout: from the request to
// the last state, with the entries that each step books. Package admission chooses the terminal, and
// package codec defines the stored form.
//
// Invariants:
//  1. Decisions are pure. Input: record, command and instant. Output: the next record, its events and
//     guards, its next due instant and the question to the provider. The old record is never changed.
//  2. Only the machine in machine.go names transitions; its report is committed beside it.
//  3. An event that moves money has an entry whose template is in postings.go. Amounts are rounded
//     down, and a named account gets the remainder.
//  4. An asset's headroom counter equals the money that live and settled transactions need, so no account total in
//     that asset exceeds it.
//  5. A volume limit has two counters: the amounts pending or settled, and the settled ones (volume.go). The
//     record stores each volume in which it counts, so that an amount is subtracted from the same window on any
//     day and after any change of the limit. Money that settled too late is in suspense and counts in no volume.
//  6. A charge has one operation at a time. While it is under way only its answer decides. An unknown outcome
//     is inquired, never assumed.
//  7. A record never contains a card number or a verification value, and a provider's token only
//     encrypted.
//
// Callers: actors/payment (makes decisions durable), api (shows records), actors/alerts (counts
// outcomes), snapshots (replays the machine).
//
// Rejected: one function per status. The table can be compared with the specification's own table, row by row.
package payment

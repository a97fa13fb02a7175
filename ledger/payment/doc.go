// Package payment decides what happens to a transaction, a payment or a payout: from the request to
// the last state, with the entries that each step books. Package admission chooses the terminal, and
// package codec defines the stored form.
//
// Invariants:
//  1. Decisions are pure. Input: record, command and instant. Output: the next record, its events and
//     guards, its next due instant and the question to the provider. The old record is never changed.
//  2. Only the state machine in machine.go defines transitions. Its report is testdata/machine.txt.
//  3. The entries of all events that move money are built in postings.go. Fees and converted amounts are rounded
//     down.
//  4. An asset's headroom counter is the sum of what pending and settled transactions may book. It is bounded, and no
//     account total in that asset exceeds it.
//  5. A volume limit has two counters: the amounts pending or settled, and the settled ones (volume.go). The
//     record stores the counters in which its amount counts, so that the amount is released from the same window of
//     time even on a later day or after a change of the limit. Money that settles after its transaction was closed is
//     on the suspense account and counts in no volume.
//  6. A charge has at most one operation at a time, such as a capture or a refund. While an operation is under way,
//     only the answer to it decides. The provider is asked about an unknown outcome; the outcome is never assumed.
//  7. An attempt of a hosted payment goes back to created only after a definite refusal, or if its call never left
//     (attempts.go). Nothing that it reserved stays reserved. Its charge has a reference of its own, and money
//     that it moves later is a transaction of its own.
//  8. A record never contains a card number or a verification value. It contains a provider's token only in
//     encrypted form.
//
// Callers: actors/payment (makes decisions durable), api (shows records), actors/alerts (counts
// outcomes), snapshots (replays the machine).
//
// Rejected design: one function per status. The machine is a table instead, which can be compared with the
// specification's table row by row.
package payment

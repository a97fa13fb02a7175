// Package payment decides each step of a transaction (a payment or a payout) from the request to the last
// state, and the entries (balanced bookings) that each step books. Its package admission chooses the terminal
// (a partner's connection to a payment provider), and its package codec defines the stored form.
//
// Invariants:
//  1. Decisions are pure. The input is the record, the command and the instant. The output is the next record,
//     its events and guards (conditions that the journal's writer checks), its next due instant and the
//     question to the provider. The old record is never changed.
//  2. Only the state machine in machine.go defines transitions. Its report, a table of them, is
//     testdata/machine.txt.
//  3. The entries of all events that move money are built in postings.go. Fees and converted amounts are
//     rounded down.
//  4. An asset's headroom counter is the sum of the amounts that pending and settled transactions may book. The
//     counter is bounded, and no account total in the asset exceeds the counter.
//  5. A volume limit (a limit on a sum of amounts) has two counters: the amounts pending or settled, and the
//     settled amounts (volume.go). The record stores which counters count its amount. So the amount is released
//     from the same window of time, even on a later day or after a change of the limit. Money that settles
//     after its transaction was closed is on the suspense account, and no volume limit counts this money.
//  6. A charge has at most one operation at a time, such as a capture or a refund. While an operation is under
//     way, only the answer to it decides. An unknown outcome is never assumed: the provider is asked about it.
//  7. A hosted payment (one that the payer makes on the service's page) returns to status created in two cases
//     only: after a definite refusal of an attempt, or if the attempt's call was never sent (attempts.go). All
//     that the attempt reserved is then released. The attempt's charge has a reference of its own. If the
//     charge moves money later, this money gets a transaction of its own.
//  8. A record never contains a card number or a verification value. It contains a provider's token only in
//     encrypted form.
//
// Callers: actors/payment (makes decisions durable); api (shows records); actors/alerts (counts outcomes);
// snapshots (replays the machine).
//
// Rejected: Another design would have one function for each status; it was not chosen because functions cannot
// be compared row by row with the specification's table, as the table in machine.go can.
package payment

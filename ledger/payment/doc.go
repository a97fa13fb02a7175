// Package payment decides each step of a transaction (a payment or a payout), from the request to the last state, and
// computes the entries (balanced bookings) of each step. Its package admission chooses the terminal (a partner's
// connection to a payment provider), and its package codec defines the stored form.
//
// Invariants:
//  1. Decisions are pure. The input is the record, the command and the instant. The output is the next record,
//     its events and guards (conditions that the journal's writer checks), its next due instant and the
//     question to the provider. The old record is never changed.
//  2. Only the state machine in machine.go defines transitions. testdata/machine.txt is a table of all transitions.
//  3. The entries of all events that move money are built in postings.go. Fees and converted amounts are
//     rounded down.
//  4. Each asset has a headroom counter: the sum of all amounts that pending and settled transactions may book. The
//     counter has an upper bound, and no account total in the asset exceeds the counter.
//  5. A volume limit (a limit on a sum of amounts) has two counters: one for pending and settled amounts together, and
//     one for settled amounts only (volume.go). The record stores which counters include its amount. So the amount is
//     released from the same window of time, even on a later day or after a change of the limit. Money that settles after
//     its transaction was closed is booked on the suspense account, and no volume limit counts it.
//  6. A charge has at most one operation at a time, such as a capture or a refund. While an operation is under way, only
//     the provider's answer to it can change the charge. If the outcome is unknown, it is never guessed: the provider is
//     asked.
//  7. A hosted payment (one that the payer makes on the service's page) returns to status created in two cases only:
//     after a definite refusal of an attempt, or if the attempt's call was never sent (attempts.go). All amounts that the
//     attempt reserved are then released. The provider knows each attempt's charge by its own reference. If a refused
//     charge moves money later, a separate transaction is created for that money.
//  8. A record never contains a card number or a verification value. It contains a provider's token only in
//     encrypted form.
//
// Callers: actors/payment (makes decisions durable); api (shows records); actors/alerts (counts outcomes); snapshots
// (replays the state machine).
//
// Rejected: one function for each status. The table in machine.go can be compared row by row with the specification's
// table; functions could not.
package payment

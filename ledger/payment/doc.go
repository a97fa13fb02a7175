// Package payment decides what happens to a transaction, a payment or a payout: from the request to
// the last state, with the entries that each step books. Which terminal it goes to is decided by
// admission, its stored form is codec's.
//
// Invariants:
//  1. Decisions are pure: record, command and instant in; out come the next record, its events and
//     guards, its next due instant and what the provider is to be asked. The record decided on is
//     never changed.
//  2. Only the machine in machine.go names transitions; its report is committed beside it.
//  3. An event that moves money carries an entry whose template is in postings.go. Amounts are floored,
//     and the remainder has a named owner.
//  4. The headroom counters are exactly what live and settled transactions need, and no total exceeds
//     them. A limit on volumes has two counters, the sum of the amounts under way or settled and of
//     those settled (volume.go). The record names each volume as long as it counts there, so that the
//     same window gets it back, whatever day it is and whatever has become of the limit. Money that
//     came too late is in suspense and counts nowhere.
//  5. A charge has one operation at a time. While it is under way its own answer decides, and an
//     unknown outcome is inquired, never assumed.
//  6. No card number or verification value is part of a record, and a provider's token only encrypted.
//
// Callers: actors/payment (makes decisions durable), api (shows records), actors/alerts (counts
// outcomes), snapshots (replays the machine).
//
// Rejected: one function a status. The table reads like the specification's own.
package payment

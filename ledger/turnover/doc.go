// Package turnover counts the transactions of a partner (merchant) for each UTC day: the number and the amounts of
// successful charges, of refunds and of chargebacks, and the number of declined charges for each reason.
//
// Invariants:
//  1. Only the journal determines the figures. An event counts on the day on which it was booked, and the figures of a
//     day that is over never change.
//  2. An event and its record determine how the event is counted. Later changes of the record make no difference. So
//     an event may be counted at any time after it was booked.
//  3. Amounts of different assets (kinds of money) are never added up. If the scale (number of decimals) of an asset
//     is not known because the currency does not exist on the network, the transactions are counted without their
//     amounts, and under an empty network. So the size of a partner's day is bounded, although callers choose the
//     names of networks.
//  4. A row (one day of a partner) has the Seq, which is the number in the journal, of the last event that it counts.
//     So each event is counted once, even if counting is repeated after a crash.
//  5. Rows have numbers for decline codes. The number of a decline code never changes its meaning.
//
// Callers: actors/turnover (counts and reads), snapshots/check (counts again and compares), api/payments (shows).
//
// Rejected: In another design, the journal's writer would update counters with each Change, as it does for limits. It
// was not chosen because, with 10,000 partners, nearly every payment of a group (the Changes that become durable with
// one sync) would write one more row.
package turnover

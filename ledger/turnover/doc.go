// Package turnover counts the transactions of each partner (merchant) on each UTC day: the number and the total amount of
// successful charges, of refunds and of chargebacks, and the number of declined charges for each reason.
//
// Invariants:
//  1. The figures are computed only from the journal. An event counts on the day on which it was booked, so once a day is over,
//     its figures never change.
//  2. How an event is counted depends only on the event and its record, and later changes of the record make no difference. So
//     an event may be counted at any time after it was booked.
//  3. Amounts of different assets (kinds of money) are never added up. If the currency of a transaction does not exist on its
//     network, the scale (number of decimals) is unknown; such transactions are counted without their amounts, and under an
//     empty network. This bounds the size of a row, although API callers may send any name of a network.
//  4. A row stores the figures of one partner for one day, and the Seq (number in the journal) of the last event that it
//     counts. So each event is counted once, even if counting is repeated after a crash.
//  5. In rows, decline codes are represented by numbers. The meaning of such a number never changes.
//
// Callers: actors/turnover (counts and reads), snapshots/check (counts again and compares), api/payments (shows).
//
// Rejected: The journal's writer could update counters with each Change, as it does for limits. But then nearly every payment
// would write one more row, because a group (the Changes that become durable with one sync) rarely contains two payments of the
// same one of 10,000 partners.
package turnover

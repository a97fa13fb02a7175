// Package deliveries checks rule 6 of the checker: each transition of which a merchant, an operator or a payer
// is notified has its notice (the stored content of the notification), and each notice has the delivery state
// that follows from its attempts. If the first attempt was acknowledged, the state is only a mark. Otherwise it
// is a row of its own, a stored delivery.
//
// Invariants:
//  1. Notices are read along with the events, and marks and stored deliveries along with the notices. All of
//     them are in the order of booking, and only one page of each is in memory.
//  2. Rows in another order (waiting and given-up deliveries) are compared as sums of hashes. Each of these
//     rows is looked up only if the sums differ.
//  3. Retention removes old deliveries. Rows from before the time that it has reached may be missing.
//
// Callers: snapshots/check.
//
// Rejected: Reporting attempts that came too early was considered; it was not chosen because a user may have
// requested them.
package deliveries

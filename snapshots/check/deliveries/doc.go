// Package deliveries checks rule 6: each transition of which a merchant, an operator or a payer is notified has its
// notice (the stored content of the notification), and each notice has the delivery state that follows from its
// attempts. If the first attempt was acknowledged, the state is only a mark; otherwise it is a row of its own,
// a stored delivery.
//
// Invariants:
//  1. Notices are read along with the events. Marks and stored deliveries are read along with the
//     notices. All are in the order of booking, and only one page of each is in memory.
//  2. Rows in another order (waiting and given-up deliveries) are compared as sums of hashes.
//     Each row is looked up only if the sums differ.
//  3. Rows from before the time up to which retention has removed deliveries may be missing.
//
// Callers: snapshots/check.
//
// Rejected: reporting attempts that came too early. Somebody may have requested them.
package deliveries

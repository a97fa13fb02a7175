// Package deliveries checks rule 6: each transition that a merchant or an operator is notified
// of has its notice, and each notice the delivery state that its attempts have left.
//
// Invariants:
//  1. Notices are read beside the events, marks and kept deliveries beside the notices: all
//     are in the order of booking, and only one page of each is in memory.
//  2. Rows in another order (what waits, what was given up) are compared as sums of hashes;
//     only if these differ is each row looked for.
//  3. What is older than the retention may be gone, wholly or in part.
//
// Callers: snapshots/check.
//
// Rejected: judging whether an attempt came too early. Somebody may have asked for it.
package deliveries

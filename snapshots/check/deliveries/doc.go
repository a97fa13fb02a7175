// Package deliveries checks rule 6 of the checker: if a merchant, an operator or a payer must be notified of a
// transition, there is a notice (the stored content of the notification), and the delivery state of each notice follows
// from its attempts. If the first attempt was acknowledged, the delivery state is only an acknowledgement. Otherwise
// the delivery state is a row of its own, called a stored delivery.
//
// Invariants:
//  1. Notices are read along with the events, and acknowledgements and stored deliveries along with the notices. All
//     these rows are in the order of booking, and memory holds only one page of each kind.
//  2. The rows of waiting and given-up deliveries have another order. The check compares the sum of their hashes with
//     the sum of the required rows' hashes, and looks up each row only if the sums differ.
//  3. Retention removes deliveries up to a certain time. Rows from before this time may be missing.
//
// Callers: snapshots/check.
//
// Rejected: another design would report attempts that came too early. It was not chosen because a user may have
// requested such an attempt.
package deliveries

// Package reconciliation checks the records of reconciliation: settlement reports, their batches of lines, differences and
// closed days.
//
// Invariants:
//  1. Everything that a record says is computed again from other records and from the journal. The sums, the keys of lines and
//     the templates of decisions are written here a second time.
//  2. A report's totals and counts equal its batches and its differences. The batches are complete and in order.
//  3. A matched line and its entry agree in what the line's outcome does not call a difference. Every line that counts, every
//     matched entry, every entry that a decision explains, and every entry that is missing there has exactly one claim, and no
//     other claim exists.
//  4. The entry of a decision equals the template of the decision, and only decisions that post have one.
//  5. The counters of open differences and of unfinished imports equal the records. A closed day has no open difference, and
//     its hash and totals equal what the closing covered.
//
// Callers: snapshots/check.
//
// Rejected: calling the functions of actors/reconciliation that the import uses. A mistake there would not be found.
package reconciliation

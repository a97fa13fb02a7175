// Package reconciliation imports settlement reports of payment providers, decides on the differences from the ledger, and closes
// days.
//
// Invariants:
//  1. All writes of an organization go through the organization's actor (Writer) and are made durable as one Change each, so
//     two decisions never overlap.
//  2. A file is read completely before anything is stored, so a wrong file leaves nothing. Its lines are then stored in small
//     batches (reconciliation.MaxBatch), one after the other: payments never wait for more than one batch.
//  3. A batch takes claims (unique keys) for its lines and for the entries that it matches. If another import or a decision was
//     faster, the writer refuses the batch, and the rest of the file is matched again.
//  4. The claim on terminal, format, mapping and hash makes the same file the same report. An import that was cut off leaves
//     the report in the state importing; the same upload continues after the last stored batch.
//  5. While a report is importing, no day of its terminal can be closed (a counter that the writer checks).
//  6. Only one report is imported at a time, which bounds the memory: the file, its lines, and the entries of its days.
//
// Callers: api/reconciliation; cmd/mizan/serving (New).
//
// Rejected: importing in the background and answering with a report that is not complete yet. Every client would have to poll,
// and 100,000 lines take seconds.
package reconciliation

// Package checkpoint stores checkpoints of each organization's trial balance, so that a trial balance of any
// moment is computed from one checkpoint and what was booked after it. A checkpoint is stored in several
// rows: the parts, which have the totals of all accounts after one event, and the head, which is written last and completes
// the checkpoint.
//
// Invariants:
//  1. The journal alone determines a checkpoint's position and content (balances.NextCheckpoint,
//     DraftCheckpoint). Each checkpoint is computed from the previous one and the events since then, so
//     the rest of the journal need not be read.
//  2. A checkpoint's parts are durable before its head. A crash in between leaves parts without a head; the next
//     start removes them or writes the same parts again.
//  3. Checkpoints form a chain: each head names the previous checkpoint. At start the chain is
//     followed in each organization, and what comes after a missing or incomplete checkpoint is removed and made
//     again. A checkpoint whose parts contradict its head is detected when the next one is computed from it, and is
//     made again too.
//  4. No request waits for a checkpoint, and the answers are the same without one: where a checkpoint is missing,
//     readers sum the accounts' lines. A checkpoint that cannot be written because the writer's queue or the disk is
//     full is made later. A head has room for a bounded number of parts. If an organization's accounts need
//     more, no further checkpoints are made for it until the process is started again.
//  5. The Maker searches for new events at intervals of real time, even if the service's clock is a manual one. It
//     runs on the runtime's pool. After a run it pauses at least fifty times as long as the run took, but never more
//     than a minute; after a failed run it pauses a minute. It keeps a few numbers per organization in memory.
//
// Callers: cmd/mizan. posting/balances and the checker read the rows.
//
// Rejected: checkpoints written by the journal's writer as soon as they are due; payments would wait while all
// accounts are summed. Also rejected: a row per account and day; with 10,000 accounts and ten entries a day the
// rows would take a thousand times as much as the entries.
package checkpoint

// Package checkpoint stores checkpoints of each organization's trial balance, so that a trial balance of any moment is
// computed from checkpoints and what was booked after the last of them. A checkpoint has the amounts that the events
// since an earlier checkpoint, its base, added to the accounts' totals. It is stored in several rows: the parts, which
// have the accounts; index rows, if there are many parts; and the head, which is written last and completes the
// checkpoint.
//
// Invariants:
//  1. The journal alone determines a checkpoint's position and content (balances.NextCheckpoint,
//     DraftCheckpoint). Each checkpoint is computed from earlier ones and the events since the previous one, so
//     the rest of the journal need not be read.
//  2. Each row is a Change of its own, so a group (the Changes that become durable with one sync) contains only a
//     small part of a long checkpoint. All other rows are durable before the head. A crash in between leaves rows
//     without a head; the next start removes them, and the checkpoint is made again.
//  3. Checkpoints are a list: each head names the previous checkpoint. At start the list is followed in each
//     organization, and what comes after a missing or incomplete checkpoint is removed and made again. A
//     checkpoint whose rows contradict its head is detected when a later one is computed from it, and is made
//     again, together with all later ones. Until then readers sum the accounts' lines (their postings with
//     running totals).
//  4. No request waits for a checkpoint, and the answers are the same without one: where a checkpoint is missing,
//     readers sum the accounts' lines. A checkpoint that cannot be written because the writer's queue or the disk is
//     full is made later.
//  5. The Maker searches for new events at intervals of real time, even if the service's clock is a manual one. It
//     runs on the runtime's pool. After a run it pauses at least fifty times as long as the run took, but never more
//     than a minute; after a failed run it pauses a minute. It keeps a few numbers per organization in memory.
//
// Callers: cmd/mizan. posting/balances and the checker read the rows.
//
// Rejected: checkpoints written by the journal's writer as soon as they are due; payments would wait while
// accounts are summed. Also rejected: a row per account and day; with 10,000 accounts and ten entries a day the
// rows would take a thousand times as much as the entries.
package checkpoint

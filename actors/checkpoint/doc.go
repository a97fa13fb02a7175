// Package checkpoint stores checkpoints of the trial balance of each organization (a tenant of the service). A trial
// balance of any moment is computed from checkpoints and from the events booked after the last of them. A checkpoint
// has the amounts that events added to the accounts' totals since an earlier checkpoint, which is its base. It is
// stored in several rows: the parts, which have the accounts; index rows, if there are many parts; and the head,
// which is written last and completes the checkpoint.
//
// Invariants:
//  1. The journal alone determines a checkpoint's position and content (balances.NextCheckpoint,
//     DraftCheckpoint). Each checkpoint is computed from earlier ones and the events since the previous one, so
//     the rest of the journal need not be read.
//  2. Each row is a Change (one atomic write) of its own. So a group (the Changes that become durable with one sync)
//     contains only a small part of a long checkpoint. All other rows are durable before the head. A crash in between
//     leaves rows without a head; the next start removes them, and the checkpoint is made again.
//  3. Checkpoints are a list: each head names the previous checkpoint. At start the list is followed in each
//     organization, and all checkpoints after a missing or incomplete one are removed and made again. A checkpoint
//     whose rows contradict its head is detected when a later checkpoint is computed from it. It is then made again,
//     together with all later checkpoints. Until then readers sum the accounts' lines (their postings with running
//     totals).
//  4. No request waits for a checkpoint, and the answers are the same without one: where a checkpoint is missing,
//     readers sum the accounts' lines. A checkpoint that cannot be written because the writer's queue or the disk is
//     full is made later.
//  5. The Maker (the type that makes checkpoints) searches for new events at intervals of real time, even if the
//     service's clock is a manual one. It runs on the runtime's pool. After a run it pauses at least fifty times as
//     long as the run took, but never more than a minute; after a failed run it pauses a minute. It keeps a few
//     numbers per organization in memory.
//
// Callers: cmd/mizan. posting/balances and snapshots/check read the rows.
//
// Rejected: another design would let the journal's writer write each checkpoint as soon as it is due. It was not
// chosen because payments would wait while the writer sums accounts. A third design would store a row for each
// account and day. It was not chosen because with 10,000 accounts and ten entries a day the rows would take a
// thousand times as much disk space as the entries.
package checkpoint

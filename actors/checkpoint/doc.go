// Package checkpoint stores checkpoints of the trial balance of each organization (a tenant of the service). The
// trial balance at any time is computed from checkpoints and from the events that were booked after the last
// checkpoint. A checkpoint contains the amounts that events have added to the accounts' totals since an earlier
// checkpoint (the base). A checkpoint is stored in several rows. The parts contain the accounts. If there are many
// parts, there are index rows. The head is written last and completes the checkpoint.
//
// Invariants:
//  1. The journal alone determines a checkpoint's position and content (balances.NextCheckpoint,
//     BuildCheckpoint). Each checkpoint is computed from earlier ones and the events since the previous one, so
//     the rest of the journal need not be read.
//  2. Each row is written with its own Change (one atomic write). So a group (the Changes that become durable with
//     one sync) contains only a small part of a long checkpoint. All other rows are durable before the head. A crash
//     may leave rows without a head; the next start removes these rows, and the checkpoint is made again.
//  3. Checkpoints form a list: each head names the previous checkpoint. At start the list is followed in each
//     organization, and all checkpoints after a missing or incomplete one are removed and made again. If the rows of
//     a checkpoint contradict its head, the error is detected when a later checkpoint is computed from it. Then the
//     wrong checkpoint and all later ones are made again. In the meantime, readers sum the accounts' lines (their
//     postings with running totals).
//  4. No request waits for a checkpoint, and the answers are the same without one: where a checkpoint is missing,
//     readers sum the accounts' lines. If a checkpoint cannot be written, because the writer's queue or the disk is
//     full, it is made later.
//  5. The Maker (the type that makes checkpoints) searches for new events at intervals of real time, even if the
//     service's clock is a manual one. The Maker runs on the runtime's pool. After a run, the Maker pauses at least
//     fifty times as long as the run took, but never more than a minute; after a failed run it pauses a minute. The
//     Maker keeps a few numbers per organization in memory.
//
// Callers: cmd/mizan. posting/balances and snapshots/check read the rows.
//
// Rejected: Checkpoints that the journal's writer writes as soon as they are due were not chosen, because payments
// would wait while the writer sums accounts. A row for each account and day was not chosen, because with 10,000
// accounts and ten entries a day the rows would take a thousand times as much disk space as the entries.
package checkpoint

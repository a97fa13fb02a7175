// Package checkpoint stores checkpoints of each organization's trial balance, so that a trial balance of any
// moment is computed from one checkpoint and what was booked after it.
//
// Invariants:
//  1. The journal alone determines a checkpoint's position and content (balances.NextCheckpoint,
//     DraftCheckpoint). Each is computed from the one before and the events in between, so no more of the journal
//     is read at once.
//  2. A checkpoint's parts are durable before its head. A crash in between leaves parts without a head; the next
//     start removes them or writes the same parts again.
//  3. Checkpoints form a chain: each names the one before. At start the chain is followed in each organization,
//     and what comes after a missing or incomplete checkpoint is removed and made again. A checkpoint whose parts
//     contradict its head is detected when the next one is computed from it, and is made again too.
//  4. No request waits for a checkpoint and no answer depends on one: readers use the sums in the parts, and the
//     accounts' pages where there is no checkpoint. A checkpoint that cannot be written because the writer's
//     queue or the disk is full is made later. If an organization has more accounts than a head has room for, it
//     gets no further checkpoint before the next start.
//  5. The maker searches for new events by real time, because real load books them. It runs on the runtime's pool and
//     pauses at least fifty times as long as a run has taken, up to a minute, and a minute after a failure. It
//     keeps a few numbers per organization in memory.
//
// Callers: cmd/mizan. posting/balances and the checker read the rows.
//
// Rejected: checkpoints written by the orderer with the group that completes them; payments would wait while all
// accounts are summed. Also rejected: a row per account and day; with 10,000 accounts and ten entries a day the
// rows would take a thousand times as much as the entries.
package checkpoint

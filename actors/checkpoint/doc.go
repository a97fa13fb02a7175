// Package checkpoint keeps checkpoints of each organization's trial balance, so that a
// trial balance of any moment reads one of them and what was booked after it.
//
// Invariants:
//  1. A checkpoint follows from the journal alone: where it comes and what it says
//     (posting.View.NextCheckpoint, DraftCheckpoint). It is made of the one before and
//     the events in between, so no more of the journal is ever read at once.
//  2. Its parts are durable before its head is. One that is cut off by a crash has no
//     head; its parts are removed at the next start, or written again as they were.
//  3. They are a chain: each names the one before. At a start the chain is followed in
//     each organization; what comes after one that is missing, or that lacks a part, is
//     removed and made again. One whose parts are not what its head says is found out
//     when the next is made of it, and made again likewise.
//  4. Nobody waits for them and no answer depends on them: readers look at the parts'
//     sums, and at the accounts' pages where there is no checkpoint. What cannot be
//     written because the queue or the disk is full is made later. Of more accounts than
//     a head has room for no further checkpoint is made, and none is tried again before
//     the next start.
//  5. It looks for events by real time, since they are booked by real load, on the
//     runtime's pool, and rests at least fifty times as long as a look has taken, up to
//     a minute, and a minute after what failed. In memory are a few numbers for each
//     organization.
//
// Callers: cmd/mizan. The rows are read by posting.View.TrialBalance and the checker.
//
// Rejected: a checkpoint of the orderer's, written with the group that fills it. It
// would hold up payments for as long as all accounts take. Rejected too: a row a day
// whatever happens: 10,000 accounts with ten entries a day would write a thousand times
// as much for them as for the entries.
package checkpoint

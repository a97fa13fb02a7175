// Package move moves an organization from the store of one shard to that of another, while both serve requests. The sender works
// at the store that has the organization, the Receiver at the other one.
//
// The sender copies the organization's rows from a snapshot, and then the rows that were written since, until few are left. Then
// it fences the organization: the store refuses further changes of it (posting.ErrElsewhere), and the sender copies the last
// rows. The Receiver recomputes the hash tree from the copied events and compares its root, and the sums of the trial balance,
// with those of the sender. Only then it takes the organization over. The rows stay in the first store, where they change no
// more.
//
//	sender's store:    here ──▶ leaving ──▶ left          (or back to here)
//	receiver's store:  arriving ──▶ here                  (or abandoned)
//
// Invariants:
//  1. At any time at most one of the two stores accepts changes of the organization. The receiver's store accepts them from the
//     moment at which the state "here" is durable there. Before that moment the state "leaving" is durable in the sender's store.
//  2. Which store has the organization is decided by one group of the receiver's store: "here" or "abandoned", whichever is
//     first. The sender leaves the state "leaving" only when it knows which of the two is durable. Resolve continues after a
//     crash.
//  3. What the sender's store has acknowledged is in the receiver's store when the organization is there.
//  4. A row is copied as it is. Due rows are made again from the copied records, and lines in the page buffer are moved to stored
//     pages first, because these rows have the numbers of their store's groups.
//  5. A copy that was given up is never read. The next copy overwrites it.
//
// Callers: cmd/mizan/serving.
//
// Rejected: the rows could be deleted at the sender after the move. But an incremental backup can't express that rows of most
// kinds are removed. Submitting the organization's changes again at the receiver was not chosen, because the events would get
// other times and so another hash tree.
package move

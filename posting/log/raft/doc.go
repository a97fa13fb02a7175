// Package raft replicates the log of a shard (a set of organizations with one writer and one store) to several nodes, with the
// Raft implementation of hashicorp/raft. A Replica is one node's member of the shard's Raft group. The replica that leads the
// group accepts frames. A frame is committed when a majority of the replicas has made it durable, and every replica then applies
// it to its own machine, which is the shard's store on that node.
//
// Invariants:
//  1. When Propose returns nil, the frame is durable on a majority of the replicas, and this replica's machine has applied it.
//     After any other error except ErrNotLeader it is unknown whether the frame is or will be committed.
//  2. A machine applies a frame only if the frame follows the machine's last one: by its number, and by the hash of the frame
//     before it. Every replica ignores any other committed frame, so a writer that no longer leads changes nothing, even if
//     Raft accepts its frame (fencing). After a restart Raft offers frames again that the machine already has; they are
//     ignored in the same way. A frame with the next number that does not follow shows that the machine has another history
//     than those of the other replicas, and the replica fails.
//  3. Frames that a machine has applied become durable in the machine itself. So a snapshot of Raft contains no data: it is a
//     note that the machine durably has all frames up to an index of Raft's log. Raft then removes the beginning of its log.
//  4. A replica that needs frames which the leader's log no longer has gets a copy of the leader's machine. The copy may have
//     later frames than Raft believes; they are ignored when Raft offers them again.
//  5. If a machine has fewer frames than the last snapshot says, its files were lost or replaced by older ones. Open refuses
//     them: the replica could otherwise vote for a leader that lacks committed frames.
//  6. A group begins with a note instead of a log, with empty machines or with machines that were restored from a backup (see
//     PrepareRestored). Replicas whose groups began with something else, or with other members, exchange no messages with it.
//
// Callers: posting/shard, posting/cluster.
//
// Rejected: one log for both purposes, in which Raft's entries are the store's frames, was considered. It would save a sync for
// each group. It was not chosen because the local log then had to remove frames at its end when a new leader overrules them,
// which is the kind of loss that it exists to detect.
package raft

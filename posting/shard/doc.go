// Package shard is one node's part of a shard that is replicated to several nodes. A shard is a set of organizations with one
// writer and one store. Each node that has a replica of the shard has its own copy of the store. On one of these nodes, the
// leader, a journal writes to the shard. Package raft decides which node leads, and in which order groups (the rows that become
// durable together) are applied.
//
// The directory of a shard has store/ (the data directory of the store) and raft/ (Raft's log). While the store is replaced by a
// copy of another node's store, it also has store.new/ and store.old/.
//
// Invariants:
//  1. A group reaches a replica's store only through Raft, also on the leader: when the leader's writer hands over a group, the
//     group is in no store until a majority of the nodes has it. So no store ever has a group that the others will not get.
//  2. Stores of different nodes that have applied the same number of groups have the same rows.
//  3. If a node loses the lead, its journal fails for good, because nobody knows whether the group that it proposed last will be
//     committed. A later journal on the same node begins with what the store has.
//  4. Lead returns only after the store has everything that earlier leaders have acknowledged.
//  5. If the process ends while the store is replaced, the next start has either the old store or the new one.
//
// Callers: posting/cluster.
//
// Rejected: a journal on every node, which would follow the leader's groups in its caches, was considered. It was not chosen
// because caches of the leader and of a follower would need two ways to be filled, and a takeover takes only milliseconds
// without it.
package shard

// Package cluster is one node of a cluster: it has a replica of each shard, and runs an engine for each shard that it leads. An
// engine is everything that works on one store: actors, due work, deliveries and the handlers of requests. The package shard
// replicates one shard; this package decides when engines begin and end, and by which shard an organization is served.
//
// Shard 0 belongs to the platform: it has the administration tokens. The other shards have the organizations. In which one an
// organization is created follows from the organization's id, so every node knows it without a table. If it was moved (package
// posting/move), that shard knows where it went.
//
// Invariants:
//  1. A node has at most one engine for a shard, and begins one only after the end of the engine before.
//  2. An engine begins after the store has everything that earlier leaders have acknowledged, and belongs to one term of Raft.
//  3. An engine ends when the node may have ceased to lead: when Raft says so, or when a group could not be committed. Requests
//     that still wait then get posting.ErrStopped: it is unknown whether their commands happened.
//  4. Lead.Verify returns nil only if, at some time after the call, a majority of the nodes had no later leader than the one
//     whose engine it is. So what the engine read before is not stale.
//  5. A node that closes hands the lead of its shards to other nodes first, after the requests under way have ended.
//  6. If a store or a log fails, Options.Fatal is called and the process must end.
//
// Callers: cmd/mizan/serving.
//
// Rejected: a table of all organizations and their shards, in a shard of its own, was considered. It was not chosen because
// creating an organization would need changes in two shards, and because a node could act on an old copy of the table.
package cluster

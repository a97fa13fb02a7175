// Package clustering implements the subcommands of `mizan cluster`: they make the certificates of a cluster's nodes, run a
// sandbox of several nodes on one machine, and show and change which node leads which shard.
//
// Invariants:
//  1. cluster.json is replaced atomically, and contains everything that is needed to start any node of the sandbox again.
//  2. The sandbox stops only processes that it or `mizan cluster start` has started: a process must have the number that
//     cluster.json names, and the node's data directory among its arguments.
//  3. A node that was killed is not started again by itself.
//
// Callers: cmd/mizan.
//
// Rejected: running all nodes of the sandbox in one process was considered. It was not chosen because nobody could then kill or
// pause one node, and the sandbox is for trying exactly this.
package clustering

// Package cluster measures what replication costs: it runs the same payments against one server and against clusters of three
// nodes, and computes from the costs of a node how many payments larger clusters carry.
//
// Invariants:
//  1. Every server, node and simulated provider is a process of its own, and is ended by its process id.
//  2. In every arrangement as many organizations pay over as many connections in all, and all servers use a simulated provider
//     in another process, so that its work is not counted with theirs.
//  3. A run fails if the organizations' charged payments differ from the good responses, or if a shard's lead has moved
//     during the measurement, because the roles of the nodes would be mixed.
//  4. The model has no figure that was not measured in the same run.
//
// Callers: package bench, for `mizan bench cluster`.
//
// Rejected: nodes inside the process of the benchmark. Their processor time and their writes could not be told apart.
package cluster

// Package cluster tests a cluster of real processes. It injects faults into the nodes while clients send payments, refunds and
// reads to random nodes, and judges afterwards what the clients were told.
//
// The nodes are those of `mizan cluster sandbox`. A campaign draws its faults from a seed: it kills the leader or a follower of a
// shard, pauses one for seconds (SIGSTOP, SIGCONT), transfers a lead, stops a leader in order, or kills a leader whose followers
// are paused. While the fault lasts, a probe sends payments to all nodes in turn, and measures the time until the affected shard
// accepts the first one that was sent after the fault.
//
// Invariants. Each is checked at the end of a campaign, when the load has ended and no replica lacks a group:
//  1. Every payment that was acknowledged (201) is found through every node, with the same id and the same status.
//  2. No txid (a merchant's own id of a transaction) has two transactions, and a create that was refused has none.
//  3. The simulated provider was asked once to charge each charged transaction, and never twice to charge or refund anything.
//  4. The partner's account has what the charged payments make, minus their refunds.
//  5. The history of each payment is linearizable: some order of the requests explains all answers, also those of nodes that had
//     been paused while another one led.
//  6. `mizan audit verify` finds no fault in any replica of any shard, and compares each with all answers.
//  7. All replicas of a shard have the same last group and the same rows.
//  8. No fault keeps a shard from accepting payments for longer than maxOutage, counted from when a majority of the nodes runs.
//
// Callers: none. The package's tests print their seed, and MIZAN_SEED repeats the choices, but not how requests interleave with
// faults. MIZAN_SOAK=10m go test -run '^TestSoak' runs campaigns for ten minutes.
//
// Rejected: the clients of package bench/orders were considered. They were not chosen because they know a single server, and
// because they do not record when a request began and ended, without which no history can be judged.
package cluster

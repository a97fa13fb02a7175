// Package cluster tests a cluster of real processes. It injects faults into the nodes while clients send payments, refunds and
// reads to random nodes, and judges afterwards what the clients were told.
//
// Each node runs on a machine of its own, as far as the machine of the tests permits (see package machines): it has a network
// namespace, a disk and a clock. A campaign draws its faults from a seed. The kinds of faults are in five tables: processFaults,
// networkFaults, diskFaults, clockFaults and moveFaults. Where a part of a machine cannot fail separately, the test logs NOT TRIED and the
// reason, and injects the other kinds. While the fault lasts, a probe sends payments to all nodes in turn, and measures the time
// until the affected shard accepts the first one that was sent after the fault. Clients reach every node, also one that the other
// nodes do not reach, and so does every node the simulated provider.
//
// Invariants. Each is checked at the end of a campaign, when the load has ended and no replica lacks a group:
//  1. Every payment that was acknowledged (201) is found through every node, with the same id and the same status.
//  2. No txid (a merchant's own id of a transaction) has two transactions, and a create that was refused has none.
//  3. The simulated provider was asked once to charge each charged transaction, and never twice to charge or refund anything.
//  4. The partner's account has what the charged payments make, minus their refunds.
//  5. The history of each payment is linearizable: some order of the requests explains all answers, also those of nodes that had
//     been paused or cut off while another one led. So is the history of each account into which concurrent payments are made that
//     have no txid and no key, and whose balance is read through any node.
//  6. `mizan audit verify` finds no fault in any replica of any shard, and compares each with all answers.
//  7. All replicas of a shard have the same last group and the same rows.
//  8. No fault keeps a shard from accepting payments for longer than maxOutage, counted from when a majority of the nodes runs.
//
// A clock that is set back or forward may put work off by as much, because each leader takes the time of its own clock. So at the end
// of a campaign the clocks of all nodes are set to a time that none of them has reached.
//
// Callers: none. The package's tests print their seed, and MIZAN_SEED repeats the choices, but not how requests interleave with
// faults. MIZAN_SOAK=10m go test -run '^TestSoak$' runs campaigns for ten minutes.
// MIZAN_FAULTS=1000 go test -run '^TestFaults$' runs campaigns until 1,000 faults were injected. MIZAN_KINDS is a regular
// expression that selects kinds of faults. With MIZAN_PLANTS=. the test TestPlantsAreCaught runs campaigns on programs with
// deliberate faults.
//
// Rejected: the clients of package bench/orders were considered. They were not chosen because they know a single server, and
// because they do not record when a request began and ended, without which no history can be judged. The nodes of `mizan cluster
// sandbox` were not chosen because they all use the loopback interface, one disk and one clock.
package cluster

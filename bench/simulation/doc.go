// Package simulation tests the service by deterministic simulation. The service runs in the test's process, in simulated time,
// with a simulated disk, network and clients. All random choices come from one seed (a number). The service is crashed again
// and again.
//
// A world is the run of one plan, and a plan is computed from a seed. In a world, several processes of the service run one
// after the other. Each process uses the real store, log, journal, actors, notifier and API. The provider (the sandbox's
// simulator), the merchants' servers and the clients outlive these processes.
//
// A goroutine of the service waits for the world's goroutine at four places: at each sync of the log, at each call to the
// provider, at the provider's answer, and at the answer of a merchant's server. When all goroutines wait, the world's goroutine
// chooses the next step at random. In a step, a waiting goroutine resumes with success or with a failure, a client begins an
// operation, time passes, or the process ends. So a crash can occur at any of these places. A replay takes the same steps, but
// between two steps Go may run the goroutines in another order.
//
// At a crash the files are copied. If the crash is a power cut, writes that were not synced are lost, torn and reordered in the
// copy, sector by sector. The next process starts with the copy. The goroutines of the previous process continue on the old
// files until they end, but they no longer affect the rest of the world.
//
// In a world of three nodes, three machines run at the same time, each with its own disk and clock. The real code of a node runs
// on each: the front that forwards requests, package posting/cluster, and Raft itself (hashicorp/raft and its log). A simulated
// transport carries Raft's messages. It delays, loses and doubles them, and cuts links in one direction or in both; messages
// that wait at a cut link arrive when the network heals. Copies of stores are sent to nodes that were away. Any process may crash
// while its goroutines wait, also at a sync of Raft's log, while the others go on. A frozen process hears nobody, and its writes
// do not end, but it still answers clients.
//
// Invariants, each checked in every world:
//  1. The checker (package check) compares the store with all answers that clients got. It finds no fault, neither after
//     crashes nor at the end.
//  2. The answers about payments, refunds, contracts, settlements and heads agree with the model in orders.go and contracts.go.
//     The model is written from the specification. (A head is the signed size and root hash of the hash tree over a journal.)
//  3. At the end the partner's balances are the sums of the clients' orders. The provider has charged exactly the orders that
//     the service shows as charged. No order was charged twice, and no limit was exceeded. The merchant's server was notified
//     of each status that clients saw.
//  4. The store has the same content each time it is opened, and a backup that was taken during the run can be restored.
//  5. With three nodes: in each term of Raft at most one node acknowledges changes. No read of the head shows less than an
//     earlier one. Once the faults have ended, the nodes agree within minutes. Then the checker finds no fault on any of them,
//     and all stores have the same content.
//  6. No operation waits forever. A process refuses to start only if a fault of the plan is the cause.
//
// The file plants_test.go contains deliberate bugs. The worlds must find each bug within a minute, those of three nodes within three.
//
// Callers: its own tests.
//
// `make simulate SEED=1 FOR=10m NODES=3` runs worlds of three nodes for ten minutes, with the seeds from 1 on. Each plan in
// testdata has once found a bug; every test run repeats these plans.
//
// A world runs in a bubble of testing/synctest (an isolated group of goroutines with simulated time), for two reasons. The
// service also waits in real time (time-outs, retries), and a bubble knows when all of its goroutines wait. If a goroutine
// holds a lock while it waits, the time of the bubble can stop. Files of long values are synced under a lock, so their syncs
// never wait for the scheduler. In a world, the only effect of a power cut on Badger's own files is the loss of a table
// (tables.go). All other effects of power cuts on Badger's files are tested with a block device (bench/faults/power).
//
// Raft's time-outs are in the bubble's time too, and Raft waits only at channels and timers, so a bubble knows when it waits. The
// worlds of three nodes have three bounds. The database with Raft's votes and the list of its log's files (bbolt) is not on the
// simulated disk: its transactions are durable, or did not happen. Renaming the directory of a store that a copy replaces is
// durable at once. And a process cannot be stopped while its timers go on, so a pause is simulated by messages that arrive late
// and by writes that do not end.
//
// Rejected: Another design would use a clock and a scheduler of our own in all packages. It was not chosen because they would
// not control the waits in real time, and would not know when all goroutines wait.
package simulation

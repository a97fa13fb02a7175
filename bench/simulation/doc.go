// Package simulation tests the service by deterministic simulation: the service runs in this process, in simulated
// time, with a simulated disk, network and clients, all driven by one seed (a number). The service is crashed again
// and again.
//
// A world is the run of one plan, and a plan is computed from a seed. Several processes of the service run in a world, one after
// the other. Each has the real store, log, journal, actors, notifier and API. The provider (the sandbox's simulator), the
// merchants' servers and the clients outlive these processes.
//
// A goroutine of the service waits for the world's goroutine at four places: at each sync of the log, at each call to
// the provider, at the provider's answer, and at the answer of a merchant's server. When all goroutines wait, the
// world's goroutine draws the next step. In a step a waiting goroutine resumes with success or with a failure, a
// client begins an operation, time passes, or the process ends. So a crash may come at any of these places. A replay
// takes the same steps, but Go may run the goroutines in another order between two steps.
//
// At a crash the files are copied. After a power cut, writes that were not synced are lost, torn and reordered in the copy, sector
// by sector. The next process starts with the copy. The goroutines of the previous process run to their end on the old files,
// disconnected from the world.
//
// Invariants, each checked in every world:
//  1. The checker (package check) finds no fault after crashes and at the end. It compares the store with all answers that clients
//     got.
//  2. The answers about payments, refunds, contracts, settlements and heads follow the model in orders.go and contracts.go,
//     which is written from the specification. (A head is the signed size and root hash of the hash tree over a journal.)
//  3. At the end the partner's balances are the sums of the clients' orders. The provider has the money of exactly
//     the charged orders. No order was charged twice, and no limit was exceeded. The merchant's server was notified
//     of each status that clients saw.
//  4. The store has the same content each time it is opened, and a backup that was taken during the run can be restored.
//  5. No operation waits forever, and a start is refused only because of a fault of the plan.
//
// The file plants_test.go has deliberate faults of the code. The worlds must catch each of them within a minute.
//
// Callers: its own tests.
//
// `make simulate SEED=1 FOR=10m` runs worlds from a seed on. The plans in testdata have failed once, and each test
// run repeats them.
//
// The time of a world is that of testing/synctest, for two reasons: the service also waits in real time (time-outs, retries),
// and a bubble (an isolated group of goroutines) of synctest tells when all of its goroutines wait. The time of a bubble can
// stop if a goroutine holds a lock while it waits. Therefore a sync of a file of long values never waits for the scheduler: the
// goroutine that syncs such a file holds a lock. In a world, a power cut changes Badger's own files only by the loss of a table
// (tables.go). All other effects of power cuts on these files are tested with a block device (bench/faults/power).
//
// Rejected: Another design would have a clock and a scheduler of our own in all packages. It was not chosen because
// it would not control the waits in real time, and would not know when all goroutines wait.
package simulation

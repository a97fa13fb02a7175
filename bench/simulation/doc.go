// Package simulation runs the service in one process, in simulated time, on a disk, with a network and with clients that are all driven by
// one seed, and crashes it again and again.
//
// A world is what one seed goes through: several processes of the service, one after the other, each with the real store, log, journal,
// actors, notifier and API; the provider (the sandbox's simulator) and the merchants' servers, which outlive them; and clients. Everything that
// waits for the outside waits for the world's goroutine: a sync of the log, a call to the provider and its answer, an answer of a merchant's
// server. When all goroutines wait, it draws what happens next: one of them goes on, or fails; a client begins something; time passes; the process
// ends. So a crash comes at any of these places, and replays go the same way but for the order in which Go runs goroutines between two of them.
//
// At a crash the files are copied, and after a power cut what was not synced is lost, torn and reordered in the copy, by sectors. The next process
// starts with the copy. The last one's goroutines end undisturbed on the old files, disconnected from everything.
//
// Invariants, each checked in every world:
//  1. The checker (package check) finds no fault after crashes and at the end, compared with all answers that clients got.
//  2. What clients are told about payments, refunds, contracts, settlements and heads follows the model in orders.go and contracts.go, which is
//     written from the specification.
//  3. At the end the partner's balances are the sums of what clients ordered; the provider has the money of exactly the charged orders; each was
//     submitted once; no limit was passed; the merchant's server was told of each status that clients saw.
//  4. The store opens twice with the same content, and a backup taken meanwhile can be restored.
//  5. Nobody waits for ever, and a start is refused only for a fault of the plan.
//
// plants_test.go has deliberate faults of the code, each of which the worlds must catch within a minute.
//
// Callers: its tests. `make simulate SEED=1 FOR=10m` runs worlds from a seed on. The kept plans in testdata have failed once.
//
// Time is that of testing/synctest, because the service waits in real time too (time-outs, retries), and because a bubble tells when all
// goroutines wait. Rejected: a clock and a scheduler of our own in all packages. A lock that is held while a goroutine waits stops a bubble's time;
// therefore the files of long values, which are synced under a lock, never wait. Badger's own files are as a kill leaves them: power cuts
// of these need a block device (bench/faults/power).
package simulation

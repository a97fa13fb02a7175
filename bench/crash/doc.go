// Package crash is the crash test: it ends the loaded server with SIGKILL at random
// points, also while it recovers, and checks the store after each kill.
//
// Invariants, each checked after every kill or, where marked, at the end:
//  1. `mizan audit verify` finds nothing broken in the closed store, given every
//     answer that any client has had so far, and none that it never had.
//  2. Two openings in a row give the same digest: recovery is idempotent.
//  3. The server is ready again within five seconds.
//  4. All answers about one txid name one transaction, also those of a race of
//     many creates, and across kills; what was answered as final stays as it was.
//  5. At the end every transaction is final, and with an outcome that its card
//     may have; each txid has exactly one transaction and each transaction that
//     reached the provider exactly one call in its log.
//  6. At the end the ledger's totals are the sum of what was charged and paid out.
//  7. No open card number, and no cardholder, is in any file or in the log.
//  8. Under a load of its own, with a merchant who acknowledges, fails and hangs by
//     turns: each status of each answered transaction was acknowledged by the merchant,
//     under one event_id and with the same data at each attempt. MIZAN_NOTICE_KILLS=200
//     kills that often.
//
// A kill can't reveal an acknowledgement before the sync, because the page cache
// outlives the process. posting's tests check that with a store that delays the sync.
//
// A campaign prints its seed; MIZAN_SEED repeats its choices, though not, of
// course, the instant at which the kernel delivers a signal. MIZAN_SOAK=30m runs
// new campaigns for that long, by turns on the real and a manual clock.
//
// Rejected: failpoints in the server. They kill only where a developer expected it.
package crash

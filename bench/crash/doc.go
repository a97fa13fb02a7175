// Package crash is the test that kills: the real binary, loaded, is ended with
// SIGKILL at random points, also while it recovers, and after each kill the
// store is looked at from all sides.
//
// Invariants, each checked after every kill or, where marked, at the end:
//  1. `mizan audit verify` finds nothing broken in the closed store, given every
//     answer that any client has had so far, and none that it never had.
//  2. Two openings in a row give one digest: recovery changes nothing twice.
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
// What can't be caught this way is an acknowledgement before the sync: the page
// cache outlives the process. A gated store in posting's tests catches that.
//
// A campaign prints its seed; MIZAN_SEED repeats its choices, though not, of
// course, the instant at which the kernel delivers a signal. MIZAN_SOAK=30m goes
// on with new campaigns for that long, by turns on the real and a manual clock.
//
// Rejected: failpoints in the server. They kill where somebody thought of it.
package crash

// Package crash is the crash test: it ends the loaded server with SIGKILL at random points,
// including during recovery, and checks the store after each kill.
//
// Invariants, each checked after every kill or, if it says so, at the end:
//  1. `mizan audit verify` finds no fault in the closed store. It compares the store with every response
//     that any client has received so far.
//  2. The store has the same digest if it is opened twice in a row, because recovery is idempotent.
//  3. The server is ready again within five seconds.
//  4. All responses about one txid are about one transaction, even after concurrent creates and kills.
//     A final status never changes.
//  5. At the end every transaction is final, with an outcome that its card allows. Each txid
//     has exactly one transaction, and each transaction that reached the provider has exactly
//     one call in the provider's log.
//  6. At the end the ledger's totals are the sum of what was charged and paid out.
//  7. No card number in plaintext, and no cardholder, is in any file or in the log.
//  8. A separate campaign has a merchant's server that alternately acknowledges, fails and hangs. At the campaign's end
//     this server has acknowledged a notification of each status about which merchants are notified, for each
//     transaction for which a client got a response. All attempts for one status have the same event_id and data.
//     MIZAN_NOTICE_KILLS=200 sets the number of kills.
//
// A kill can't reveal an acknowledgement before the sync, because the page cache outlives the
// process. The tests of package posting look for such acknowledgements with a store that delays the sync.
//
// A campaign prints its seed; MIZAN_SEED repeats its choices, except for the instant at which
// the kernel delivers a signal. MIZAN_SOAK=30m runs new campaigns for that time, alternately on
// the real and on a manual clock.
//
// Rejected: failpoints in the server. They kill the server only at places that a developer has thought
// of.
package crash

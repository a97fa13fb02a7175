// Package crash is the crash test of the server. It ends the loaded server with SIGKILL at random points, also during
// recovery, and checks the store after each kill.
//
// Invariants, each checked after every kill or, if it says so, at the end:
//  1. `mizan audit verify` finds no fault in the closed store. It compares the store with every response
//     that any client has received so far.
//  2. The store has the same digest if it is opened twice in a row, because repeating the recovery changes nothing.
//  3. The server is ready again within five seconds.
//  4. All responses about one txid (a merchant's own id of a transaction) are about one transaction, even after
//     concurrent creates and kills. A final status never changes.
//  5. At the end every transaction is final, with an outcome that its card allows. Each txid
//     has exactly one transaction, and each transaction that reached the provider has exactly
//     one call in the provider's log.
//  6. At the end the ledger's totals are the sums of the charged and the paid-out amounts.
//  7. No card number in plaintext, and no cardholder, is in any file or in the log.
//  8. No notification is lost. A separate campaign (a series of kills) tests this with a merchant's server that acknowledges
//     some notifications, fails some, and leaves some without a response. At the end the merchant's server has acknowledged a
//     notification about each status of each transaction for which a client got a response (if merchants are notified of that
//     status). All attempts for one status have the same event_id and data. MIZAN_NOTICE_KILLS=200 sets the number of kills.
//
// A kill cannot reveal that the server acknowledged a change before it had synced the change to the disk, because the page cache
// outlives the process. The tests of package posting look for such early acknowledgements; their store delays each sync.
//
// A campaign prints its seed, and MIZAN_SEED=<seed> repeats its random choices. But the kernel may deliver a signal at another
// instant. MIZAN_SOAK=30m runs new campaigns for thirty minutes, alternately with the real clock and with a manual clock.
//
// Rejected: another design would put failpoints into the server (places in the code at which a test can end it). It
// was not chosen because failpoints kill the server only at places that a developer has thought of.
package crash

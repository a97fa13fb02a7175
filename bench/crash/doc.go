// Package crash is the crash test of the server. It ends the loaded server with SIGKILL at random points, also during
// recovery, and checks the store after each kill.
//
// Invariants. Each is checked after every kill, or at the end if it says so:
//  1. `mizan audit verify` finds no fault in the closed store. The command compares the store with every response that any
//     client has received so far.
//  2. If the store is opened twice in a row, it has the same digest both times, because repeating the recovery changes nothing.
//  3. The server is ready again within five seconds.
//  4. All responses with the same txid (a merchant's own id of a transaction) show the same transaction, even after concurrent
//     creates and kills. A final status never changes.
//  5. At the end every transaction is final, with an outcome that its card allows. Each txid
//     has exactly one transaction, and each transaction that reached the provider has exactly
//     one call in the provider's log.
//  6. At the end the ledger's totals are the sums of the charged and the paid-out amounts.
//  7. Neither a file nor the log contains a card number in plaintext or the name of a cardholder.
//  8. No notification is lost. A separate campaign (a series of kills) tests this with a merchant's server that acknowledges
//     some notifications, fails some, and leaves some without a response. If merchants are notified of a status, and a response
//     has shown a client that a transaction has this status, then the merchant's server has acknowledged a notification about
//     this status by the end. All attempts for one status have the same event_id and data. MIZAN_NOTICE_KILLS=200 sets the
//     number of kills.
//
// A kill cannot reveal that the server acknowledged a change before it had synced the change to the disk, because the page cache
// outlives the process. The tests of package posting look for such early acknowledgements; their store delays each sync.
//
// A campaign prints its seed, and MIZAN_SEED=<seed> repeats its random choices, except for the instants at which the kernel
// delivers signals. MIZAN_SOAK=30m runs new campaigns for thirty minutes, alternately with the real clock and with a manual
// clock.
//
// Rejected: another design would put failpoints into the server (places in the code at which a test can end it). It
// was not chosen because failpoints kill the server only at places that a developer has thought of.
package crash

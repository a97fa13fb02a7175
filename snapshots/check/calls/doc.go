// Package calls checks rule 7: it compares the simulator's own log of the calls that it
// received with the intents and entries in the journals.
//
// Invariants:
//  1. The log is read once, in order; a line that is cut short at the end is no call.
//  2. What is known of a transaction's calls is a few counters and marks in its History.
//  3. A restore and the checker agree on which calls the store knows (Known).
//
// Callers: snapshots/check (Check), snapshots/backup (Known, LogName).
//
// Rejected: asking the simulator. A checker that starts a provider changes what it checks.
package calls

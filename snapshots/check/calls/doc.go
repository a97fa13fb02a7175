// Package calls checks rule 7: it compares the simulator's own log of the calls that it
// received with the intents and entries in the journals.
//
// Invariants:
//  1. The log is read once, in order; a last line that is cut short is not a call.
//  2. A transaction's calls are kept as a few counters and marks in its History.
//  3. A restore and the checker use the same rule for which calls the store knows (Known).
//
// Callers: snapshots/check (Check), snapshots/backup (Known, LogName).
//
// Rejected: asking the simulator. A checker that starts a provider changes what it checks.
package calls

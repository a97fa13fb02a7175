// Package calls checks rule 7: it compares the simulator's own log of the calls that it
// received with the intents and entries in the journals. An intent is an event that is stored before
// the service calls a provider.
//
// Invariants:
//  1. The log is read once, in order; a last line that is cut short is not a call.
//  2. Memory holds a transaction's calls as a few counters and marks in its History.
//  3. A restore keeps only those lines of the log for which the store has intents (LogFilter), so
//     that the check of the restored store finds no call without an intent.
//
// Callers: snapshots/check (Check), snapshots/backup (LogFilter, LogName).
//
// Rejected: asking the simulator for its calls. Starting the simulator would change its log.
package calls

// Package calls checks rule 7: it compares the simulator's own log of the calls that it
// received with the intents and entries in the journals.
//
// Invariants:
//  1. The log is read once, in order; a last line that is cut short is not a call.
//  2. A transaction's calls are kept as a few counters and marks in its History.
//  3. A restore and the checker use the same rule for which calls have an intent (LogFilter).
//
// Callers: snapshots/check (Check), snapshots/backup (LogFilter, LogName).
//
// Rejected: asking the simulator for its calls. Starting the simulator would change its log.
package calls

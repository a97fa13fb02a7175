// Package calls checks rule 7 of the checker of stores (snapshots/check), which is about calls to providers. It
// compares the log of calls that the simulated provider received with the intents and entries in the journals. An
// intent is an event that is stored before the service calls a provider.
//
// Invariants:
//  1. The log is read once, in order. A last line that is cut short is not a call.
//  2. The memory for a transaction's calls is a few counters and marks in the transaction's History.
//  3. A restore keeps only the lines of the log for which the store has intents (LogFilter). So the check of the
//     restored store finds no call without an intent.
//
// Callers: snapshots/check (Check), snapshots/backup (LogFilter, LogName).
//
// Rejected: Another design would ask the simulator for its calls. It was not chosen because the simulator would have
// to be started, which changes its log.
package calls

// Package calls checks rule 7 of the store checker (snapshots/check): every call to a provider follows a stored intent.
// The package compares the simulated provider's log of received calls with the intents and entries in the journals. An
// intent is an event that is stored before the service calls a provider.
//
// Invariants:
//  1. The log is read once, in order. An incomplete last line does not count as a call.
//  2. The memory for a transaction's calls is a few counters and flags in the transaction's History.
//  3. A restore keeps only the log lines for which the store has intents (LogFilter). Therefore the check of a restored
//     store finds no call without an intent.
//
// Callers: snapshots/check (Check), snapshots/backup (LogFilter, LogName).
//
// Rejected: another design would ask the simulator for its calls. It was not chosen because the check would have to
// start the simulator, and every start changes the simulator's log.
package calls

// Package canaries checks rule 8: it searches every file of the data directory for canaries:
// strings that a test has sent and that must not be stored, such as card numbers.
//
// Invariants:
//  1. Every regular file is searched, in any format, except the check's own inputs.
//  2. A string that lies across two reads of a file is found.
//  3. A finding names the file, the canary's line and the offset, never the string.
//
// Callers: snapshots/check.
//
// Rejected: one bytes.Contains for each canary. A crash test has thousands of canaries; this
// search reads the files once.
package canaries

// Package canaries checks rule 8: it looks for strings that a test has sent, such as card
// numbers, in every file of the data directory.
//
// Invariants:
//  1. Every regular file is searched, whatever it holds, but for the check's own inputs.
//  2. A string that lies across two reads of a file is found.
//  3. A finding names the file, the canary's line and the offset, never the string.
//
// Callers: snapshots/check.
//
// Rejected: bytes.Contains a canary. A crash test has thousands, and reads the files once.
package canaries

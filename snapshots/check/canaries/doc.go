// Package canaries searches every file of the data directory for canaries: strings that a test has sent and that must
// not be stored, such as card numbers. This is rule 8 of the checker (package check).
//
// Invariants:
//  1. Every regular file is searched, in any format, except the check's own inputs.
//  2. A canary is found even if two reads of a file each get only a part of it.
//  3. A finding names the file, the canary's line and the offset, never the string.
//
// Callers: snapshots/check.
//
// Rejected: another design would call bytes.Contains once for each canary. It was not chosen because a crash test has
// thousands of canaries, so each file would be searched thousands of times. This package finds all canaries in one pass
// over a file.
package canaries

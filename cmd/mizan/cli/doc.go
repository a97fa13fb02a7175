// Package cli is what the commands of mizan share with the process: where they print,
// how an error becomes lines on stderr and an exit code, bounded reads of files, and
// the context that ends with a signal.
//
// Invariants:
//  1. Exit codes are an interface for supervisors and scripts: 0 clean, 1 storage
//     fault, 2 bad configuration, 3 directory locked or of another schema.
//  2. Each line on stderr begins with "mizan: " and is one line, whatever the error
//     of a library contains.
//  3. Files that people name are read up to a bound.
//
// Callers: cmd/mizan and its folders config, serving, audit and maintenance. The
// folder client is below it and does not import it.
//
// Rejected: os.Exit in the commands. Their tests call them as functions.
package cli

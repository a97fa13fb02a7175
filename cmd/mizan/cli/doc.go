// Package cli has what the subcommands of mizan share: output streams, errors as lines on stderr and exit codes,
// bounded reads of files, and the context that ends with a signal.
//
// Invariants:
//  1. Exit codes are an interface for supervisors and scripts: 0 clean, 1 storage fault, 2 bad
//     configuration, 3 directory locked or of another schema.
//  2. Each line on stderr begins with "mizan: ", and an error is always one line, whatever text
//     a library's error contains.
//  3. A file that a user names is refused if it is larger than a bound.
//
// Callers: cmd/mizan and its folders config, serving, audit and maintenance. Package client does not import cli,
// because cli uses its types.
//
// Rejected: os.Exit in the commands, because tests call the commands as functions.
package cli

// Package cli has what the subcommands of the program mizan share: output streams, errors with exit codes and lines
// on stderr, bounded reads of files, and a context that a signal cancels.
//
// Invariants:
//  1. Exit codes are an interface for supervisors and scripts: 0 clean, 1 storage fault, 2 bad
//     configuration, 3 directory locked or of another schema.
//  2. Each line on stderr begins with "mizan: ". An error is always one line, even if a library's error contains line
//     breaks.
//  3. If a file that a user names is larger than a bound, it is refused.
//
// Callers: cmd/mizan and its folders config, serving, audit and maintenance. Package client does not import cli,
// because cli uses the types of client.
//
// Rejected: another design would call os.Exit in the commands. It was not chosen because tests call the commands as
// functions, and os.Exit would end the test.
package cli

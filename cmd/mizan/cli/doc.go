// Package cli contains what the subcommands of the program mizan share: output streams, errors with an exit code and lines for
// stderr, reads of files with a size limit, and a context that a signal cancels.
//
// Invariants:
//  1. Supervisors and scripts rely on the exit codes: 0 means a clean end, 1 a storage fault, 2 a bad configuration, and 3 that
//     the data directory is locked or has another schema.
//  2. Each line on stderr begins with "mizan: ". An error is always one line, even if a library's error contains line
//     breaks.
//  3. A file that the user names is refused if it is larger than a limit.
//
// Callers: cmd/mizan and its folders config, serving, audit and maintenance. Package client does not import cli, because cli
// uses types of client.
//
// Rejected: another design would call os.Exit in the commands. It was not chosen because tests call the commands as
// functions, and os.Exit would end the test.
package cli

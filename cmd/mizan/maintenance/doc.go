// Package maintenance implements the commands for people who operate a server. They manage keyrings (the files with the
// server's keys), replace admin tokens, and take and restore backups.
//
// Invariants:
//  1. A file that a command creates gets its final name only after the file is complete. So an interrupted command leaves no
//     incomplete backup, restored directory or keyring under that name.
//  2. A command that needs a stopped server locks the server's data directory.
//  3. Tokens and keys come from files, stdin or the environment, never from the command line. A
//     new token is printed once, alone on stdout.
//
// Callers: cmd/mizan.
//
// Rejected: Rotating keys over HTTP was considered. It was not chosen because a running server keeps the keyring that it read
// at its start, and because the keyring's file belongs to the operator.
package maintenance

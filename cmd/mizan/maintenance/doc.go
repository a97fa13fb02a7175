// Package maintenance has the commands for people who operate a server: keyrings and their
// keys, rotation of admin tokens, backups and restores.
//
// Invariants:
//  1. A file that a command creates gets its name when it is complete: an interrupted command
//     leaves no backup, restored directory or keyring under that name.
//  2. A command that needs a stopped server takes the lock of its data directory.
//  3. Tokens and keys come from files, stdin or the environment, never from the command line. A
//     new token is printed once, alone on stdout.
//
// Callers: cmd/mizan.
//
// Rejected: rotation of keys over HTTP. A running server keeps the keyring that it read at its
// start, and the file belongs to the operator.
package maintenance

// Package admin is `mizan admin …`: the administration of a running server from a
// command line. One file holds the commands of one kind of record.
//
// Invariants:
//  1. It is only a client: it uses the server by HTTP only. Of this module it imports only package
//     client and the columns of records (ledger/directory), from which its flags and tables are made.
//  2. A flag that was not given is not sent, so a change touches only the fields
//     that the caller names.
//
// Callers: cmd/mizan, which adds these flags and commands to its own.
//
// Rejected: these commands in package main. The rules about imports are per package, and package main
// imports the whole server.
package admin

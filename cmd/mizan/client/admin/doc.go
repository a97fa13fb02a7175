// Package admin is `mizan admin …`: the administration of a running server from a
// command line. One file holds the commands of one kind of record.
//
// Invariants:
//  1. It is a client and nothing else: it uses the server by HTTP only. Of the module it imports
//     package client, and the columns of records (ledger/directory), which are its flags and tables.
//  2. A flag that was not given is not sent, so a change touches only the fields
//     that the caller names.
//
// Callers: cmd/mizan, which makes its flags and commands part of its own.
//
// Rejected: these commands in package main. Rules of imports are by package, and
// package main imports the whole server.
package admin

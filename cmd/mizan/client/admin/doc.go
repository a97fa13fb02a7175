// Package admin is the command `mizan admin`, which administers a running server from a command line. One file holds
// the commands of one kind of record.
//
// Invariants:
//  1. The package is only a client: it uses the server by HTTP only. It imports only two packages of this module:
//     package client, and ledger/directory with the columns of records, from which the flags and tables are made.
//  2. A flag that was not given is not sent, so a change affects only the fields that the caller names.
//
// Callers: cmd/mizan (adds these commands).
//
// Rejected: another design would put these commands into package main. It was not chosen because the rules about
// imports hold for whole packages, and package main imports the whole server.
package admin

// Package admin implements the command `mizan admin`, which administers a running server. Each file holds the commands for one
// kind of record.
//
// Invariants:
//  1. The package is only a client: it reaches the server only over HTTP. Besides package client it imports only
//     ledger/directory, ledger/storefront and ledger/schema. They define the columns of records, from which the flags and
//     tables are made.
//  2. Flags that were not given are not sent, so an update changes only the fields that the caller names.
//
// Callers: cmd/mizan, which adds these commands to its own.
//
// Rejected: Putting these commands into package main was considered. It was not chosen because import rules apply to whole
// packages, and package main imports the whole server.
package admin

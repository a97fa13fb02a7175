// Package contracts is `mizan contracts …`: commands with which an organization's staff,
// with a session's token, read its contracts as statements.
//
// Invariants:
//  1. The package is only a client: it reaches contracts over HTTP. Besides package client it imports the
//     tables of the products, which say at which paths contracts are and which members are amounts,
//     so that a new product needs no change here.
//  2. A statement is for people: it has amounts in major units, and the exact minor units beside them.
//     A response does not tell how many decimals a currency has. This package has its
//     own list of the decimals, and a test compares it with the ledger's.
//
// Caller: cmd/mizan, which adds these flags and commands to its own.
//
// Rejected: a statement rendered by the server, which would be one more format of the same data to keep
// compatible.
package contracts

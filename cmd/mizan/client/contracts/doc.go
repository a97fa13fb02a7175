// Package contracts is `mizan contracts …`: commands with which an organization's staff read
// its contracts with a session's token, above all a statement.
//
// Invariants:
//  1. It is only a client: it imports package client and no other package of the module.
//  2. A statement is for people: it has amounts in major units, and the exact minor units beside them.
//     A response does not tell which members are amounts, nor how many decimals a currency has. Both
//     are lists here, and a test compares them with the contracts' columns.
//
// Callers: cmd/mizan, which includes the flags and commands in its own.
//
// Rejected: a statement rendered by the server, which would be one more format of the same data to keep
// compatible.
package contracts

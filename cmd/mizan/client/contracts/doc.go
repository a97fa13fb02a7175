// Package contracts is `mizan contracts …`: what the people of an organization
// read of its contracts with a session's token, above all a statement.
//
// Invariants:
//  1. It is a client and nothing else: it imports package client and no other
//     package of the module.
//  2. A statement is for people: amounts in major units, and the exact minor units
//     beside them. An answer does not say which members are amounts, nor how many
//     decimals a currency has: both are lists here, and a test compares them with
//     the contracts' columns.
//
// Callers: cmd/mizan, which makes its flags and commands part of its own.
//
// Rejected: a statement rendered by the server, which would be one more format of
// the same answer to keep compatible.
package contracts

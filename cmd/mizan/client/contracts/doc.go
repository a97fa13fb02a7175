// Package contracts implements the commands `mizan contracts …`. With them an organization's staff read its
// contracts as statements, with a session's token.
//
// Invariants:
//  1. The package is only a client: it reaches contracts over HTTP. Besides package client it imports the
//     tables of the products (kinds of contracts). The tables say at which paths contracts are and which
//     members are amounts, so a new product needs no change here.
//  2. A statement is for people: it has amounts in major units, and the exact minor units beside them. A
//     response does not tell how many decimals a currency has, so the number comes from package ledger/money.
//
// Caller: cmd/mizan, which adds these flags and commands to its own.
//
// Rejected: A statement rendered by the server was considered; it was not chosen because it would be one more
// format of the same data to keep compatible.
package contracts

// Package contracts implements the commands `mizan contracts …`. An organization's staff use them, with a session token, to
// read the organization's contracts as statements.
//
// Invariants:
//  1. The package is only a client: it reaches contracts over HTTP. Besides package client it imports the definitions of the
//     products (kinds of contracts). These definitions contain the URL paths of contracts and the names of amounts, so a new
//     product needs no change here.
//  2. A statement is for people: it shows each amount in major units, and beside it the exact number of minor units. A response
//     does not say how many decimals a currency has, so the number comes from package ledger/money.
//
// Caller: cmd/mizan, which adds these flags and commands to its own.
//
// Rejected: Statements that the server renders were considered; they were not chosen because a rendered statement would be one
// more data format that must stay compatible.
package contracts

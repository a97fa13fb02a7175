// Package credentials reads the money_storage of a payer: which fields a method takes,
// what of them may be stored, and the card that goes on to the provider.
//
// Invariants:
//  1. Nothing of a card is kept openly but its first six and last four digits and a keyed
//     fingerprint of its number.
//  2. A card's verification value is never part of what is kept.
//  3. What was unescaped from the request is overwritten after use.
//
// Callers: api/payments, for creates and continuations; api/checkout, for the form of the
// payer's page.
//
// Rejected: encoding/json into a struct. Strings cannot be overwritten.
package credentials

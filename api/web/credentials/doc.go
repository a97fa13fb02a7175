// Package credentials reads a payer's money_storage: the fields of each method, the parts that
// may be stored, and the card for the provider.
//
// Invariants:
//  1. Of a card only the first six and last four digits and a keyed fingerprint of its number
//     are stored openly.
//  2. A card's verification value is never stored.
//  3. Text that was unescaped from the request is overwritten after use.
//
// Callers: api/payments, for creates and continuations; api/checkout, for the form of the
// payer's page.
//
// Rejected: encoding/json into a struct. Strings cannot be overwritten.
package credentials

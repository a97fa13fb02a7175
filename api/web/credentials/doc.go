// Package credentials reads a payer's means of payment (money_storage in the API): the fields of each payment method,
// the parts that may be stored, and the card data that the provider receives.
//
// Invariants:
//  1. Only three parts of a card are stored unencrypted: the first six digits, the last four digits, and a keyed
//     fingerprint of the number.
//  2. A card's verification value is never stored.
//  3. Text that was unescaped from the request is overwritten after use.
//
// Callers: api/payments (creates and continuations), api/checkout (the payer's form).
//
// Rejected: Another design would decode the JSON into a struct with encoding/json. It was not chosen because the
// strings of such a struct cannot be overwritten after use.
package credentials

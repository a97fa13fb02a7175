// Package storefront stores and reads what a merchant needs to sell without a program: payment links, products and
// images.
//
// Invariants:
//  1. One actor for each organization (Writer) decides every write of the organization's records, so these writes
//     never overlap.
//  2. A record's public address is claimed (reserved as unique) in the same Change that stores the record. The claim
//     holds for the whole platform, so the address alone identifies the record. An unknown address costs one lookup
//     in the store.
//  3. Nothing is kept in memory: an organization may have millions of links.
//
// Callers: api/storefront (writes and lists records), api/checkout (shows records to payers).
//
// Rejected: another design would have an actor for each record. It was not chosen because a link is rarely changed,
// and because the organization's actor already handles idempotency keys.
package storefront

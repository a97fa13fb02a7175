// Package storefront stores payment links, products and images, and reads them from the store.
//
// Invariants:
//  1. The actor of the record's organization decides every write (Writer), so writes of one organization never overlap.
//  2. A record's public address is claimed in the record's own Change, in the platform's scope, so that the address
//     alone leads to the record. An address that is not known costs one lookup of the store.
//  3. Nothing is kept in memory: an organization may have millions of links.
//
// Callers: api/storefront writes and lists records, api/checkout shows them to payers.
//
// Rejected: an actor for each record. A change of a link is rare, and the organization's actor already repeats the
// cached replies of idempotency keys.
package storefront

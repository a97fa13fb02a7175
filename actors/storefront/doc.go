// Package storefront stores and reads what a merchant needs for selling without writing software: payment links,
// products and images.
//
// Invariants:
//  1. All writes of an organization's records go through one actor of the organization (Writer), so two writes never overlap.
//  2. The Change that stores a record also claims the record's public address (reserves it as unique). The claim is valid for
//     the whole platform, so the address alone identifies the record. For an unknown address, one lookup in the store suffices.
//  3. No records are kept in memory, because an organization may have millions of links.
//
// Callers: api/storefront (writes and lists records), api/checkout (shows records to payers).
//
// Rejected: another design would have an actor for each record. It was not chosen because a link is rarely changed,
// and because the organization's actor already handles idempotency keys.
package storefront

// Package contracts serves the HTTP routes of contracts of participatory finance (finance without an interest
// rate fixed in advance). Each product has two sets of terms, called readings. The secular reading has paths
// for each product, and the religious reading has one set of paths for all products.
//
// Invariants:
//  1. A reading requires its module (a part of the service that an organization may have). An organization
//     without the module gets the same refusal on every route of the reading.
//  2. A product's table in ledger/contract defines its fields, actions, filters and shape. Handlers name no
//     product.
//  3. The number of contracts comes from counters. A page far back in a list is found by a search, without
//     reading all rows before it.
//  4. A report on charity reads a bounded number of events or is refused.
//
// Callers: package api.
//
// Rejected: A set of handlers for each product was considered; it was not chosen because the sets would differ
// only in their tables.
package contracts

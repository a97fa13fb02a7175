// Package contracts serves the routes of participatory-finance contracts. A product's contracts have
// two readings, that is, forms: the secular reading, with paths for each product, and the religious
// reading, with one set of paths for all products.
//
// Invariants:
//  1. A reading requires its module: an organization without the module gets the same refusal
//     on every route of the reading.
//  2. A product's table in ledger/contract defines its fields, actions, filters and shape.
//     Handlers name no product.
//  3. Counters give the number of contracts. A page far back is found by a search, not by
//     reading all rows before it.
//  4. A report on charity reads a bounded number of events or is refused.
//
// Callers: package api.
//
// Rejected: a set of handlers for each product. They would differ only in their tables.
package contracts

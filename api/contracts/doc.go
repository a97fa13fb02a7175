// Package contracts answers the routes of participatory-finance contracts in both
// readings: the secular one, with addresses for each product, and the religious one, with
// one set of addresses for all products.
//
// Invariants:
//  1. A reading is behind its module: an organization without the module gets the same
//     refusal on every route of the reading.
//  2. What a product has (fields, actions, filters, shape) comes from its table in
//     ledger/contract. Handlers name no product.
//  3. Contracts are counted by counters. A page far behind is searched for, not walked to.
//  4. A report on charity reads a bounded number of events or is refused.
//
// Callers: package api.
//
// Rejected: a set of handlers for each product. They would differ only in their tables.
package contracts

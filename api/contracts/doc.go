// Package contracts serves the HTTP routes for contracts of participatory finance (finance without an interest rate
// fixed in advance). Each product has two sets of terms, called readings. In the secular reading each product has
// its own paths, and in the religious reading all products share one set of paths.
//
// Invariants:
//  1. Each reading belongs to a module (a part of the service that an organization may have). If an organization
//     does not have the module, every route of the reading refuses its requests in the same way.
//  2. The table of a product in ledger/contract defines the product's fields, actions and filters. Handlers contain
//     no code that is specific to one product.
//  3. Numbers of contracts are read from counters. To find a page far back in a list, the package searches for it
//     instead of reading all rows before it.
//  4. A report on charity reads a limited number of events. A report that would need more is refused.
//
// Callers: package api.
//
// Rejected: a set of handlers for each product, because the sets would differ only in their tables.
package contracts

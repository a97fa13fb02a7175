// Package columns has the columns that several record types share: a record's id and times, its partner, and the
// currency, network and environment of its amounts.
//
// Callers: ledger/directory, ledger/storefront.
//
// Rejected: these columns in package schema. Schema knows how columns work, not which columns the service has.
package columns

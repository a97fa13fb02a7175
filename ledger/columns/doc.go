// Package columns declares the columns (stored fields) that several types of record have in common: a record's id and times,
// its partner (merchant), and the currency, network and environment of its amounts.
//
// Callers: ledger/directory, ledger/storefront.
//
// Rejected: Package schema could declare these columns. But package schema defines how columns work, and knows no particular
// column of the service.
package columns

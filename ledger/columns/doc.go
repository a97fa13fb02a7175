// Package columns declares the columns (stored fields) that several types of record share: a record's id and times,
// its partner (merchant), and the currency, network and environment of its amounts.
//
// Callers: ledger/directory, ledger/storefront.
//
// Rejected: another design would declare these columns in package schema. It was not chosen because package schema
// defines how columns work, and knows no particular column of the service.
package columns

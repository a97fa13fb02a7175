// Package schema describes record types as tables of columns. Each column is declared once. The code that would otherwise
// repeat it uses this declaration: the stored form, the parsing of requests, the JSON of responses, the checker's
// comparison, the flags and tables of clients, and the documentation.
//
// Invariants:
//  1. A column's key is its number in the stored form. The meaning of a key never changes, and no later column gets
//     the same key. ReadStored skips the keys of unknown columns.
//  2. The columns of a table have different keys and names, and each has a kind and a help line. A declaration that
//     violates this panics when the program starts, so a column that cannot be stored, shown or documented is found at
//     once.
//  3. A value has the Go type that the kind of its column defines. nil means that there is no value, and is neither
//     stored nor compared.
//  4. A request is read in the order of the columns, and every fault is reported, not only the first.
//  5. The values that ReadStored returns do not alias the stored bytes.
//
// A record is either a Row or a Go struct. A Row holds one value for each column of its table. For a struct, a Type binds
// each column to a field (Field, BoundField). Contracts are Rows, because each product has different columns. The
// directory's records are structs, because every payment reads their fields, so reading must be fast. Some columns occur
// only in requests (InputField) or only in responses (ShownColumns).
//
// Callers: ledger/directory and ledger/contract; through them api, the command-line client and the checker.
//
// Rejected: struct tags. A tag cannot hold a function, and a mistake in a tag is found only when a record is read.
package schema

// Package schema describes record types as tables of columns. A column is declared once; everything that repeats a
// field is derived from it: the stored form, reading a request, showing the record as JSON, the checker's comparison,
// the clients' flags and tables, and the documentation.
//
// Invariants:
//  1. A column's key is its number in the stored form. It never changes its meaning, and no later column gets it;
//     ReadStored skips the keys of unknown columns.
//  2. The columns of a table have different keys and names, and each has a kind and a help line: anything else panics at
//     start, so that a column that cannot be stored, shown or documented is found at once.
//  3. A value has the Go type of its column's kind. nil means that there is no value; it is neither stored nor compared.
//  4. A request is read in the order of the columns, and every fault is reported, not only the first.
//  5. What ReadStored returns does not alias the stored bytes.
//
// A record is either a Row, with one value for each column of its table, or a Go struct (Type), with fields that columns
// are bound to (Field, Bound). Contracts are Rows, because each product has different columns. The directory's records
// are structs, because every payment reads their fields. A column may also be in requests only (ForInput) or in responses
// only (Shown).
//
// Callers: ledger/directory, ledger/contract; api, the client and the checker through them.
//
// Rejected: struct tags. A tag cannot hold a function, and mistakes in it show only when a record is read.
package schema

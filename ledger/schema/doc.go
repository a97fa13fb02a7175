// Package schema describes record types as tables of columns. A column is declared once. Everything that would otherwise
// repeat the field is derived from the column: the stored form, reading a request, showing the record as JSON, the
// checker's comparison, the clients' flags and tables, and the documentation.
//
// Invariants:
//  1. A column's key is its number in the stored form. The meaning of a key never changes, and no later column gets
//     the same key. ReadStored skips the keys of unknown columns.
//  2. The columns of a table have different keys and names, and each has a kind and a help line. Any other
//     declaration panics when the program starts. So a column that cannot be stored, shown or documented is found at
//     once.
//  3. A value has the Go type of its column's kind. If there is no value, it is nil; nil is neither stored nor
//     compared.
//  4. A request is read in the order of the columns, and every fault is reported, not only the first.
//  5. The values that ReadStored returns do not alias the stored bytes.
//
// A record is either a Row or a Go struct. A Row has one value for each column of its table. The columns of a struct (Type)
// are bound to its fields (Field, Bound). Contracts are Rows, because each product has different columns. The directory's
// records are structs, because every payment reads their fields. A column may also be in requests only (ForInput) or in
// responses only (Shown).
//
// Callers: ledger/directory and ledger/contract; through them api, the command-line client and the checker.
//
// Rejected: another design would use struct tags. It was not chosen because a tag cannot hold a function, and because
// mistakes in a tag show only when a record is read.
package schema

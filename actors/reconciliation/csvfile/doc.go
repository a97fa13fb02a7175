// Package csvfile reads settlement reports in CSV (RFC 4180). A mapping says which columns have the date, the amount and so on.
//
// Invariants:
//  1. The first record of a file has the names of the columns. Every column that the mapping names exists once.
//  2. Amounts are exact: no amount passes through a floating-point number, and digits beyond the currency's decimals are an
//     error, never rounded.
//  3. An error names the line of the file and the column.
//  4. The file is read as a stream, and has at most reconciliation.MaxLines lines.
//
// Callers: actors/reconciliation.
//
// Rejected: guessing columns, separators or decimals. A wrong guess would book every amount a hundred times too large.
package csvfile

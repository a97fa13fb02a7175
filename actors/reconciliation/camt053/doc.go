// Package camt053 reads account statements of ISO 20022, camt.053.001.02 to .13, as banks and providers send them.
//
// Invariants:
//  1. Only booked entries count. A batch entry whose transactions have amounts that add up to the entry becomes one line per
//     transaction; any other entry becomes one line.
//  2. Amounts are exact decimal texts; no amount passes through a floating-point number.
//  3. The file is read as a stream. Entities other than those of XML itself are refused, and so are documents that are nested
//     too deeply or have too many lines.
//  4. A closing balance (CLBD) of the statement is reported; where a file has several statements of one asset, the last counts.
//
// Callers: actors/reconciliation.
//
// Rejected: github.com/moov-io/iso20022. Its version 0.2.1 knows camt.053 in version .08 only, reads the whole document into
// memory, and holds amounts as float64.
package camt053

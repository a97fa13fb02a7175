// Package export writes a ledger's entries in formats that other programs read: plain text
// accounting (hledger, beancount), tables (CSV, Parquet) and spreadsheets (XLSX).
//
// An export contains whole entries, because a part of an entry does not balance. They are the
// entries of one environment in the Book's range and, if there is a prefix, only those with an
// account whose path has the prefix.
//
// A hold reserves money and changes no posted balance. hledger and beancount get holds on separate accounts, named
// "pending:" and the account's path (Equity:Pending in beancount), and a capture or a void clears
// them. So in both formats the ordinary accounts have the posted balances of the trial balance, and
// the pending accounts its pending balances, with positive debits. Tables have columns for the
// phase, the seq and the seq of the closed hold instead.
//
// Invariants:
//  1. Memory does not grow with the number of entries: it contains a bounded number of holds, the
//     rows of one row group, and the set of assets.
//  2. Amounts are exact decimal text, never a float. A spreadsheet's number has 15 digits, so a
//     longer amount is text there.
//  3. In every format different assets have different commodities, and different accounts have
//     different names. A name depends on its asset only, so it is the same in every export.
//  4. A text cell never begins with a character that makes a spreadsheet compute it. Amounts
//     stay unchanged.
//  5. An export without its end mark is incomplete: after an error of a Book or a Writer the
//     caller must not end the stream as if it were complete.
//  6. Everything in the ledger can be exported: an asset with unknown decimals is in minor
//     units and marked, and does not prevent the export of others.
//
// Callers: api, which streams over HTTP.
//
// Rejected: excelize for XLSX. Its StreamWriter keeps every sheet as XML in temporary files,
// about a gigabyte for a million rows, before the first byte can be sent, and builds the
// workbook in memory; a sheet of text and numbers is simple XML that can be streamed. Tests
// read our files with excelize and with Gnumeric, which is stricter. Rejected: a second pass for
// pending amounts, because the journal already says which hold a capture closes.
package export

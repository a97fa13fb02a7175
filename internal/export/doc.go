// Package export writes a ledger's entries in the forms that other programs read:
// plain text accounting (hledger, beancount), tables (CSV, Parquet) and spreadsheets
// (XLSX).
//
// An export is of whole entries: those of one environment whose events are in the
// range that the Book yields, and, if there is a prefix, that touch an account below
// it. A half entry balances in no program.
//
// What is pending. A hold moves no posted total, so it may not move a balance of the
// export. hledger and beancount get it on accounts of its own, "pending:" and the
// account's path (Equity:Pending in beancount), which a capture or a void clears. So
// in both the balances of the accounts are the posted ones of the trial balance, and
// those of the pending accounts its pending ones, debits positive. Tables show the
// phase, and seq and closes, and leave the rest to the reader.
//
// Invariants:
//  1. Memory does not grow with the entries: nothing is kept but a bounded number of
//     holds, of rows of one row group, and the set of assets.
//  2. Amounts are exact decimal text, never a float. A spreadsheet's number has 15
//     digits, so what has more is text there.
//  3. Different assets have different commodities, different accounts different
//     names, whatever the form: nothing mixes networks or environments. A name depends
//     on its asset only, so that it is the same in every export.
//  4. A text cell never begins with a character that makes a spreadsheet compute it;
//     amounts are never touched for that.
//  5. What has no end mark is not whole: the error of a Book or a Writer ends an
//     export, and the caller must not end the stream as if it were complete.
//  6. What is in the ledger can be exported: an asset whose decimals nobody knows is
//     in minor units and says so, and never stands in the way of the others.
//
// Callers: api, which streams over HTTP.
//
// Rejected: excelize for XLSX. Its StreamWriter keeps every sheet as XML in temporary
// files, about a gigabyte a million rows, before the first byte of the workbook can be
// sent, and makes the workbook in memory; a sheet of text and numbers is a few lines
// of XML that can be sent as it is written. Tests read ours with excelize, and with
// Gnumeric, which wants more of a row. A second pass for what is pending was rejected
// too: the journal says what a capture closes.
package export

// Package export writes a ledger's entries (balanced bookings) in formats that other programs read: plain text
// accounting (hledger, beancount), tables (CSV, Parquet) and spreadsheets (XLSX).
//
// An export contains whole entries, because a part of an entry does not balance. It has the entries of one
// environment in the range of the Book (the source of the entries). If a prefix is given, it has only the
// entries with an account whose path begins with the prefix.
//
// A hold reserves money and changes no posted balance. hledger and beancount get holds on separate accounts,
// named "pending:" and the account's path (Equity:Pending in beancount), and a capture or a void of the hold
// clears these accounts. So in both formats the ordinary accounts have the posted balances of the trial
// balance, and the pending accounts have its pending balances, with positive debits. Tables have no such
// accounts. They have columns for the phase, the seq (the number of the entry's event) and the seq of the
// closed hold.
//
// Invariants:
//  1. Memory does not grow with the number of entries. It contains a bounded number of holds, the rows of one
//     row group, and the set of assets.
//  2. Amounts are exact decimal text, never a float. A spreadsheet's number has 15 digits, so a longer amount
//     is text there.
//  3. In every format different assets have different commodities, and different accounts have different names.
//     A name depends only on its asset or account, so the name is the same in every export.
//  4. A text cell never begins with a character that makes a spreadsheet compute the cell. Amounts stay
//     unchanged.
//  5. An export without its end mark is incomplete. After an error of a Book or a Writer the caller must not
//     end the stream as if the export were complete.
//  6. Everything in the ledger can be exported. If an asset's number of decimals is unknown, its amounts are in
//     minor units and marked.
//
// Callers: api/ledger (streams over HTTP), api/console/auditor and api/description/operations (formats).
//
// Rejected: Writing XLSX with excelize was considered; it was not chosen because its StreamWriter keeps every
// sheet as XML in temporary files, about a gigabyte for a million rows, before the first byte can be sent, and
// builds the workbook in memory. Package export streams the XML itself, which is simple for a sheet of text and
// numbers; tests read the files with excelize and with Gnumeric, which is stricter. A second pass for pending
// amounts was not chosen because the journal already says which hold a capture closes.
package export

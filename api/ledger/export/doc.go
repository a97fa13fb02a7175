// Package export writes a ledger's entries (balanced bookings) in formats that other programs read: plain text
// accounting (hledger, beancount), tables (CSV, Parquet) and spreadsheets (XLSX).
//
// An export contains whole entries, because a part of an entry does not balance. The entries come from the
// Book: they belong to one environment and were booked in one time range. If a prefix is given, only entries
// that have a posting on an account whose path begins with the prefix are exported.
//
// A hold reserves money and changes no posted balance. In hledger and beancount, holds are written to separate
// accounts, whose names are "pending:" and the account's path (Equity:Pending in beancount). A capture or a
// void of the hold clears these accounts. So in both formats the ordinary accounts show the posted balances of
// the trial balance, and the pending accounts show its pending balances (debits are positive). Tables have no
// such accounts. Instead they have columns for the phase, the seq (the number of the entry's event) and the seq
// of the hold that the entry closes.
//
// Invariants:
//  1. Memory does not grow with the number of entries. An export keeps a bounded number of holds, the rows of
//     one row group, and the set of assets in memory.
//  2. Amounts are exact decimal text, never a float. A number in a spreadsheet has only 15 digits, so an amount
//     with more digits is written as text.
//  3. In every format different assets have different commodities, and different accounts have different names.
//     A name depends only on its asset or account, so the name is the same in every export.
//  4. A text cell never begins with a character that makes a spreadsheet compute the cell. Amounts stay
//     unchanged.
//  5. An export without its end mark is incomplete. After an error of a Book or a Writer the caller must not
//     end the stream as if the export were complete.
//  6. Everything in the ledger can be exported. If an asset's number of decimals is unknown, its amounts are
//     exported in minor units, and the export says so.
//
// Callers: api/ledger (streams over HTTP), api/console/auditor and api/description/operations (formats).
//
// Rejected: Writing XLSX with excelize was considered, but excelize cannot send the first byte before it has
// built the whole workbook in memory, and until then its StreamWriter keeps every sheet as XML in temporary
// files, about a gigabyte for a million rows. Package export streams the XML itself, which is simple for a
// sheet of text and numbers; tests read the files with excelize and with Gnumeric, which is stricter. A second
// pass over the entries to find pending amounts is not needed, because the journal already says which hold a
// capture closes.
package export

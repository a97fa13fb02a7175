// Package check checks a whole store: it recomputes the rows from the events alone and compares them
// with the stored rows. `mizan audit verify`, `serve --check`, a restore and every crash test run it.
//
// There are nine rules, each reported as ok, FAIL or skipped:
//
//	1 acknowledged responses        package answers
//	2 totals, pages, months         packages books, turnover and reconciliation, volumes in package transactions
//	3 states of records             packages transactions, contracts, directory, reconciliation; row_hashes.go
//	4 claims, lists, numbers        claims.go, lists.go, keys.go, packages contracts, reconciliation and search
//	5 journals, hash trees, groups  journal.go, tree.go, authors.go, package books (page buffers)
//	6 notifications                 package deliveries
//	7 provider calls                package calls
//	8 canaries                      package canaries
//	9 a reopened store is the same  a crash test compares the Report.Digest of two checks
//
// The full text of each rule is in the comments at the top of the files that check the rule. A group has the changes
// that were written and synced together; the page buffer has lines that are flushed to pages later.
//
// Invariants:
//  1. A check writes nothing. If the store is closed, opening it for the check runs the store's recovery, which is
//     the only change.
//  2. Everything is recomputed from the events' canonical bytes (their encoded form). Hash trees are recomputed by
//     golang.org/x/mod/sumdb/tlog, which shares no code with the writer.
//  3. Rows are read in sections: all rows of one kind of one organization, ordered by key. Memory holds
//     a few hundred bytes for each record, account, refund, volume, provider call and response, and the page
//     buffers.
//  4. No rule needs the keyring. With the keyring, cached replies are decrypted and compared too.
//  5. The message about a fault names ids, seqs (numbers of events), amounts and accounts. It contains no text that a
//     partner sent, because such a text may contain a card number.
//  6. A rule that can't read its rows is reported as FAIL, not as skipped.
//
// Callers: cmd/mizan, snapshots/backup, and tests of every package that writes.
//
// Rejected: rules that are plugins and all read one common stream of records were not chosen, because each rule needs
// its rows in a different order and compares them with different rows. So the rules are scans that run one after the
// other.
package check

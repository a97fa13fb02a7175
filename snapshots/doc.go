// Package snapshots checks a whole store: it recomputes what the rows say from
// the events alone and compares. `mizan audit verify`, `serve --check` and every
// crash test run the same code.
//
// The rules, each reported as ok, FAIL or skipped with how many things it
// looked at:
//
//  1. Every acknowledged answer is there and equal; a definite refusal left
//     nothing; an unknown one is wholly there or wholly absent. (Needs answers.)
//     A transaction is equal in every field that its record and the status
//     shown determine, and not unknown (404) on a later line; an entry asked for
//     by its seq is equal in all but its balances. Other answers are skipped.
//     A line may have partner_id: without it an organization's partners are one.
//  2. Per asset and env debits are credits, posted and pending; every running
//     total is the sum of its postings; no partner's balance is below what its
//     overdraft allows.
//  3. Each record's state is what its events lead to, by legal transitions;
//     entries sit on the events that move money and say what the record says;
//     what was held bounds what was captured, and that what was given back.
//  4. Every claim names one existing thing that has that key, and every thing
//     with such a key has its claim; lists show each transaction where it belongs.
//  5. Sequences are gap-free, times rise, blocks join, trees recompute, groups
//     are chained.
//  6. Deliveries: skipped, nothing notifies yet.
//  7. Every provider call has its intent, at most one call moved money, and
//     money that moved has its call. (Needs a data directory.)
//  8. No canary is in any file. (Needs canaries.)
//  9. Two openings give one digest: a crash test compares Report.Digest.
//
// Invariants:
//  1. Nothing is written. Opening a closed store runs its recovery, no more.
//  2. What is recomputed is recomputed from the events' canonical bytes; trees
//     by golang.org/x/mod/sumdb/tlog, which shares nothing with the writer's.
//  3. Rows are read in sections, in order. Memory holds a few hundred bytes a
//     record and an account, nothing a line or an event.
//  4. A detail names ids, seqs, amounts and accounts; never what a partner sent,
//     which may hold a card number.
//  5. A rule that cannot read its rows is broken, not skipped.
//
// Callers: cmd/mizan; tests of every package that writes.
//
// Rejected: checking each account's page beside the event that caused it. Pages
// are in the order of accounts and events are not, so that every line would be
// a seek; a running hash an account needs two scans and no seeks.
package snapshots

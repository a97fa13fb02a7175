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
//     shown determine, and not unknown (404) on a later line; a hosted one may
//     be shown in short. A refund that was named is there, and no less is
//     refunded than was shown. An entry asked for by its seq is equal in all but
//     its balances. A contract, in both families, is equal in every field as long as
//     nothing has happened since, and where the answer had a key, for what it was
//     answered with is kept; else in what its creation fixed, in the instant, at which
//     it must have come into the status shown by the action asked for, and in the sums
//     of what its entries had moved by then. One that was shown is not unknown later,
//     and lists are compared by which contracts they show, and as of when. Screenings
//     are equal, and renewals (subscriptions) in their terms, in a status that they had
//     and in no more than has been renewed. A rate was that at its instant. What else the
//     administration makes is there, and equal in what cannot be changed, or in all but
//     secrets where nothing has been. Other answers are counted: where there are no
//     others, the rule is skipped. A line may have partner_id:
//     without it an organization's partners are one; and idempotency_key: the
//     claim on it names what the answer shows, and a refused create left none.
//  2. Per asset and env debits are credits, posted and pending; every running
//     total is the sum of its postings; every line is on its account's pages, or
//     after them in the daybook where a reader looks for it, and what the daybook
//     repeats is as its page has it; a checkpoint of the trial balance says what the
//     events up to its own have made of each account, and one that is missing is none; no partner's balance is below what its
//     overdraft allows, but for what refunds and two-phase payments hold of it;
//     a partner's line is split between what is available and what is owed as
//     its accounts ask for; the counters of a volume limit are the sums of what
//     its transactions have under way and settled, and no others are there. The hash of
//     a closed month is that of the entries before its closing that take effect by its
//     end, and none after it takes effect by then.
//  3. Each record's state is what its events lead to, by legal transitions, with
//     one intent at a time before each outcome; entries sit on the events that
//     move money, close what the record holds, and say what the record says;
//     the record says what its terms, its terminal and the rate make of its
//     amount; refunds share the fee and convert as they add up; a return is the
//     mirror of what is left; what came too late is in suspense until it is
//     given back; a settlement is with its partner's bank or a terminal of its
//     partner's; users and sessions act as who is there, and no administration
//     token is in force that was retired; nothing is pending, awaited, kept or
//     sealed for what is closed, and something wakes what is not; a transaction that is under way
//     or settled counts towards each volume limit that bounds it, and no other; a
//     subscription's renewals are one transaction a number, of its amount and at
//     its terminal, and as many have settled as it says are paid. A contract's events
//     are steps of one product's machine in one reading, which are the record's, with
//     entries where they move money and nowhere else, in the religious reading none
//     before a review; its columns say what each of its own accounts holds, which is
//     nothing for the others and, but for what POSTINGS leaves open, when it has ended,
//     and what it has put on accounts that contracts share, where a column has the sum;
//     it is woken when its product says, and finished where nothing leads further. The
//     register of an issue's holders is what the entries of its subscriptions make it, row by
//     row; an action that is for all holders has the batches that so many take, and the
//     record says how many of them there are so far; and each holder was paid what the
//     distributions and the redemption make of the position. A
//     screening's decision is what the rules of its version give for what it was given,
//     and a contract rests on one that is there. Months are closed once they have ended,
//     once, and without a gap from the journal's first one on. What somebody was answered with is the
//     contract as it was then.
//  4. Every claim names one existing thing that has that key, and every thing
//     with such a key has its claim; an idempotency key names what exists and is
//     its partner's or names a contract or a closed month of its organization, every renewal has the
//     claim on its name, and every answer that is kept has its key; lists show each
//     transaction, and each settlement, subscription and contract once, where it
//     belongs, in the order of booking, on pages and in the daybook as accounts' lines
//     are, a contract also for each who has a part in it; contracts' numbers are 1…n of
//     each prefix, the sequence's counter says n, and the others how many there are.
//     A claim that holds more than an id was made with an event that has its hash.
//  5. Sequences are gap-free, times rise, blocks join, trees recompute, groups
//     are chained; daybook rows are of groups that there were, in parts without a
//     gap, dealt into shares or not, and have what was booked after earlier groups'.
//  6. Each transition of which a merchant is notified has its notice, where an
//     address was set: as many as the transaction or the subscription counts, and it
//     counts none without one where an address had been set for a minute. Each notice is of an event that
//     is told, says what happened, and goes to its own partner's destination; no two
//     are of one event by one channel, so that each has one event_id. It is marked as
//     acknowledged, or kept as its attempts leave it, or not tried yet, which none
//     before the cursor is; what waits has the one row that wakes it, what was given
//     up the one that finds it, and nothing else has one. An event has the hash of its notices. What is older than the
//     retention may be gone; what a sweep was interrupted at may be there. Not
//     judged: whether an attempt came too early, because somebody may have asked for it.
//  7. Every provider call has its intent, no charge is sent twice to a terminal
//     or to a second one while the first may have it, and no capture, void or
//     refund is sent twice; money that moved has its call, which captured and
//     refunded what the record says; what is closed is open at no provider; no
//     line shows what may be a card's number. (Needs a data directory.)
//  8. No canary is in any file. (Needs canaries.)
//  9. Two openings give one digest: a crash test compares Report.Digest.
//
// It also takes backups of a running store and restores them; backup_format.go has the
// form of one.
//
// Invariants of backups:
//  1. A backup shows one group. Rows leave the process sealed, and what has its name
//     as a backup is whole and durable.
//  2. Nothing of a backup is believed that its manifest, which only the keyring can
//     have sealed, does not say. The end of the file vouches for its bytes to who has
//     no keys.
//  3. Between two parts no iterator is open: only versions are kept from compaction by
//     a backup, not tables, and those for a bounded time.
//  4. A directory that is restored has its name after the checker has run, and the heads
//     of all journals are the manifest's. Until then a mark in it keeps everybody else from
//     opening it, and a restore removes nothing that has no such mark.
//  5. Retention removes nothing that a kept increment rests on, and nothing of others. An
//     increment is only taken to what was read to its end just before, with all that it
//     rests on.
//  6. Where several backups may be meant, the newest is: one that can't be read is never
//     passed over for an older one. What is not needed does not matter.
//
// Invariants of the checker:
//  1. Nothing is written. Opening a closed store runs its recovery, no more.
//  2. What is recomputed is recomputed from the events' canonical bytes; trees
//     by golang.org/x/mod/sumdb/tlog, which shares nothing with the writer's;
//     prices and entries on math/big from the pages' words (prices.go), without
//     the functions of ledger/payment that made them. Only its table of
//     transitions is believed, whose report is committed and reviewed. Of contracts
//     it is the products' machines, what they say of a record (Holdings, Due)
//     and the rules of screenings; which events have entries, and which columns are
//     sums of which lines, is copied by hand.
//  3. Rows are read in sections, in order. Memory holds a few hundred bytes a
//     record, an account, a refund, a volume, a provider's operation and an answer, a bit
//     for each of contracts' numbers, and the daybooks, which posting bounds; nothing a
//     line or another event, and nothing an account that a contract has to itself: what
//     those hold is added up a contract, and their lines are all in all (own.go). Of one
//     issue at a time there are its holders, with a number each (register.go). Of deliveries
//     there is one page of notices at a time, with its marks.
//  4. No rule needs keys: what is sealed is compared with the hash that its event has. With
//     the keyring what requests with keys were answered with is opened too, and what it says
//     compared with the journal.
//  5. A detail names ids, seqs, amounts and accounts; never what a partner sent,
//     which may hold a card number.
//  6. A rule that cannot read its rows is broken, not skipped.
//
// Callers: cmd/mizan; tests of every package that writes.
//
// Rejected: a directory of files for a backup. One file is whole or not, and has its
// name at once; an object store takes it as it is. Rejected too: compressing it.
// It would cost the loaded server more than the disk that it saves.
//
// Rejected: checking each account's page beside the event that caused it. Pages
// are in the order of accounts and events are not, so that every line would be
// a seek; a running hash an account needs two scans and no seeks. Rejected too:
// keeping each record's entries until its row is read. A sum of postings by random
// weights (meanings.go) takes eight bytes, adds up as entries do, and tells as much.
package check

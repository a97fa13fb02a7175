// Package balances reads the balances that one account or all accounts had at any moment, by booked time or by effective
// date. It also makes checkpoints, which make trial balances faster. A checkpoint is a stored sum of the amounts that events
// added to accounts.
//
// There are two ways to compute the totals in a trial balance of everything that was booked up to a moment. Both give the
// same rows.
//
//   - From the pages, which are the stored rows with the lines of accounts. An account's last line up to that moment contains
//     the account's totals. The cost is proportional to the number of accounts that are read. This way is used if fewer than
//     fewAccounts accounts are selected, for the first maxOfPage accounts of a caller that reads the result page by page, and
//     if the organization's checkpoints are missing or far behind.
//   - From the last checkpoint before that moment, and the events after the checkpoint. For each account, a checkpoint
//     contains the amounts that the events since an earlier checkpoint (its base) have added to the account's totals. So the
//     totals are the sum over the checkpoint, its base, the base's base and so on (its chain), and the later events. The cost
//     is proportional to the number of accounts that are read plus the number of later events. The distance between
//     checkpoints bounds the number of later events.
//
// If a caller reads page by page in a currency that few accounts have, the accounts are found in an index in memory
// (currencyIndex).
//
// A checkpoint also contains sums over groups of accounts. If an account's path has more than two segments, the first two are
// its group. Otherwise its class is its group. The groups are disjoint, so a sum over all accounts or over a class is a sum
// over a few groups. For the last event that was requested of an organization, the Reader caches the sums of the
// organization's groups. It extends these sums by later events (see orgCache).
//
// A balance by effective date is the balance that was booked up to the end of the day, plus a correction. The correction is
// for the lines that were booked on one side of the day's end and take effect on the other. To find them, the reader reads
// all shifted lines of the organization once (lines whose effective day is not the day on which they were booked). Both ways
// use the same correction, and so do the sums of groups.
//
// Invariants:
//  1. A checkpoint never changes a result. A row of a checkpoint is used only if it matches the row that lists it. Otherwise
//     the totals of the row's accounts, and of all accounts after them, are read from the pages.
//  2. The position and the content of a checkpoint depend only on the journal, so a rebuilt checkpoint equals the lost one.
//  3. A reader returns accounts ordered by key, and each account once, even if it changes from one way to the other in
//     between.
//  4. During a read, memory contains at most 2×maxTurnover accounts and, for each of at most maxChain checkpoints, one row of
//     each height of the checkpoint's tree. After the read, at most maxKept accounts stay cached. Making a checkpoint takes
//     no more memory than a read.
//  5. A Reader caches the sums of groups of at most maxCachedOrgs organizations, for at most 2×maxSnapshots+1 moments each.
//     It reads each new event only once to extend the latest sums. Only one caller extends them. The other callers wait, or
//     use the sums of an earlier moment.
//  6. The base of a checkpoint has more than twice as many accounts as the checkpoint. So chains are short, all checkpoints
//     of a chain together have less than twice as many accounts as the oldest one, and an account is rewritten only when its
//     checkpoint is merged into a larger one.
//
// Callers: api/ledger, actors/period, actors/checkpoint, and the tests of snapshots/check.
//
// Rejected: Every checkpoint could contain all accounts. But with a million accounts, either checkpoints would be so rare
// that readers read millions of events, or most of the bytes that the store writes would be checkpoints. Checkpoints could
// contain the accounts' totals instead of the added amounts. But then, to write the few accounts that have new postings, the
// maker of a checkpoint would have to look up their earlier totals all over the base. An estimate of the cost could choose
// between the two ways. It was removed because its constants were right for only one machine, and because it chose
// checkpoints whenever there were any. Groups could contain each other (all accounts, a class, two segments). But the sums of
// disjoint groups contain the same information in fewer rows. The number of accounts in a group is not stored, because an
// event does not show whether it opens an account.
package balances

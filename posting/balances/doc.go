// Package balances reads balances of any moment, of one account or of all, by booked time or by effective date. It
// also makes checkpoints (stored sums of the amounts that events added to accounts), from which trial balances start.
//
// There are two ways to compute the totals of a trial balance, as booked up to a moment. Both give the same
// rows.
//
//   - From the pages (the stored rows with accounts' lines): the last line of an account up to that moment has the account's
//     totals. The cost is proportional to the number of accounts that are read. This way is used for fewer than
//     fewAccounts accounts, for the first maxOfPage accounts of a caller who reads page by page, and for an organization whose
//     checkpoints are missing or far behind.
//   - From the last checkpoint up to that moment, and the events after it. A checkpoint contains a sum for each account: the
//     amounts that the events since an earlier checkpoint (its base) have added to the totals. So the totals are the sum over
//     the checkpoint, its base, the base's base and so on (its chain), and the later events. The cost is proportional to the
//     number of accounts that are read plus the number of later events, which the distance between checkpoints bounds.
//
// A page in a currency that few accounts have takes its accounts from an index in memory (currencyIndex).
//
// A checkpoint also contains the sums of groups of accounts: an account's group is the first two segments of its path, or its
// class if the path has no more. The groups are disjoint, so the sums over all accounts and over a class are sums over a few
// groups. The Reader caches the sums of groups of an organization after the last event that was requested, and extends them by
// later events (follower).
//
// A balance by effective date is the balance booked up to the end of the day, corrected by the lines whose
// booked time and effective day are on different sides of that instant. The correction takes one pass
// over the organization's shifted lines (those whose effective day is not their booked day). Both ways use the
// same correction, and so do the sums of groups.
//
// Invariants:
//  1. A checkpoint never changes a result. A row of a checkpoint is used only if it matches the row that lists it.
//     Otherwise the totals of its accounts are read from the pages.
//  2. The position and the content of a checkpoint follow from the journal alone, so a rebuilt
//     checkpoint equals the lost one.
//  3. Accounts come in the order of their keys, each once, even if the reader changes from one way to
//     the other in between.
//  4. While it reads, a reader holds at most twice maxTurnover accounts in memory, and one row of each height of at most
//     maxChain checkpoints. Afterwards it caches at most maxKept accounts. Making a checkpoint takes no more memory
//     than reading.
//  5. A Reader caches the sums of groups of at most maxFollowed organizations, at 2×maxMoments+1 moments each. While it extends
//     sums by new events it reads no event twice. One caller extends them; others wait or take an earlier moment.
//  6. The base of a checkpoint has more than twice as many accounts as the checkpoint. So a chain is short, all its
//     checkpoints together have less than twice as many accounts as its oldest one, and an account is rewritten only
//     when its checkpoint is merged into a larger one.
//
// Callers: api/ledger, actors/period, actors/checkpoint, and the tests of snapshots/check.
//
// Rejected: another design would store all accounts in every checkpoint. It was not chosen because, with a million
// accounts, either checkpoints are so rare that readers read millions of events, or checkpoints are most of the bytes
// that the store writes. Checkpoints with the accounts' totals instead of the added amounts were not chosen because a
// checkpoint of the few accounts that moved would have to look up their earlier totals all over its base. A choice
// between the two ways by an estimate of their cost was not kept because the estimate's constants were right for one
// machine only, and it chose checkpoints wherever there were any. Groups that contain each other (all accounts, a class, two
// segments) were not chosen because the sums of disjoint ones are fewer rows with the same content. The number of accounts of
// a group is not kept: whether an event opens an account cannot be seen from the event.
package balances

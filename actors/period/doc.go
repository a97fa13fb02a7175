// Package period closes an organization's books month by month: it checks whether the month can be closed, hashes
// its trial balance, and submits the closing to the writer.
//
// Invariants:
//  1. One Change closes a month: its record, its event with the hash, and the end of booking on its dates become
//     durable together or not at all. A kill leaves no partial closing.
//  2. The writer decides: the month is not closed yet, it has ended, and nothing was dated into it after the
//     trial balance was read. If something was, the closing is computed again from the current state, and
//     meanwhile commands with a date in the month are refused. So a client that keeps dating into the month
//     delays a closing once but cannot prevent it. At most maxTries attempts are made.
//  3. Only one trial balance is read at a time, whoever requests it, because it covers all accounts.
//  4. A request with an idempotency key claims it in the closing's own Change. A repeated request gets the
//     month's current record, because a closed month never changes.
//  5. No month is closed while an action on a contract, such as a distribution to the holders of its
//     certificates, is being carried out in batches, because all batches take effect on the action's day. A
//     counter records that an action is in progress, and the writer checks the counter.
//
// Callers: api (Service), cmd (New).
//
// Rejected: marking a month as closing first and adding its hash later. Then nothing would have to be computed
// again, but a kill would leave a month that is neither open nor closed and that must be resumed.
package period

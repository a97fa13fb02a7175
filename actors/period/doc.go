// Package period closes an organization's books month by month: it checks whether the month can be closed, hashes
// its trial balance, and submits the closing to the writer.
//
// Invariants:
//  1. One Change (an all-or-nothing write) closes a month: the month's record, its event with the hash, and the
//     end of booking on its dates become durable together. A kill leaves no partial closing.
//  2. The writer checks that the month is not closed yet, has ended, and got no new entry after the trial
//     balance was read. If there is a new entry, the closing is computed again from the current state, and
//     meanwhile commands with a date in the month are refused. So a client that keeps dating commands into the
//     month delays a closing once but cannot prevent it. At most maxTries attempts are made.
//  3. Only one trial balance is read at a time, because reading it is slow: it covers all accounts.
//  4. A request's idempotency key is claimed in the closing's own Change. A repeated request gets the month's
//     current record, because a closed month never changes.
//  5. No month is closed while an action on a contract, such as a distribution to the holders of its
//     certificates, is being carried out in batches, because all batches take effect on the action's day. A
//     counter records that an action is in progress, and the writer checks the counter.
//
// Callers: api (Service), cmd (New).
//
// Rejected: marking a month as closing first and adding its hash later. Then no closing would have to be
// computed again, but a kill would leave a month that is neither open nor closed, whose closing must be resumed.
package period

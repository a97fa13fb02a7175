// Package period closes an organization's books month by month. It checks whether the month can be closed, hashes the
// month's trial balance (the totals of all accounts), and submits the closing to the journal's writer.
//
// Invariants:
//  1. One Change (an all-or-nothing write) closes a month: the month's record, its event with the hash, and the
//     rule that nothing more is booked on its dates become durable together. A crash leaves no partial closing.
//  2. The writer checks that the month is not closed yet, has ended, and got no new entry after the trial balance was
//     read. If there is a new entry, the closing is computed again from the current state. From then on, commands
//     with a date in the month are refused, so a client that keeps sending such commands can delay a closing once but
//     cannot prevent it. After 16 attempts (maxTries) the request to close the month is refused.
//  3. Only one trial balance is read at a time, because reading it is slow: it covers all accounts.
//  4. The Change that closes the month also stores the request's idempotency key. A repeated request gets the
//     month's current record, because a closed month never changes.
//  5. An action on a contract, such as a distribution to the holders of its certificates, may be carried out in
//     batches, all of which take effect on the day of the action. No month is closed until all batches are done. A
//     counter records that an action is in progress, and the writer checks the counter.
//
// Callers: api (Service), cmd (New).
//
// Rejected: another design would first mark a month as "closing" and add the hash later, so that no closing is
// computed twice. It was not chosen because a crash between the two steps would leave a month that is neither open
// nor closed, and the closing would have to be resumed.
package period

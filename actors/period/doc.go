// Package period closes an organization's books month by month: it looks whether the
// month can be closed, hashes its trial balance, and hands the closing to the writer.
//
// Invariants:
//  1. A month is closed by one Change: its record, its event with the hash, and the end
//     of all dates in it become durable together, or not at all. Nothing of a closing is
//     left behind by a kill.
//  2. The writer judges it: that the month is not closed yet, that it has ended, and that
//     nothing was dated into it after the trial balance was read. In the last case the
//     closing is made again, on what is stored by then, and meanwhile commands with a
//     date in the month are turned away: whoever goes on dating into it delays a closing
//     once, and does not keep it from being done. There are at most maxTries.
//  3. One trial balance is read at a time, whoever asks: it is of all accounts.
//  4. A request with a key keeps its claim in the closing's own Change. Its repetition is
//     given the month as it is: a closed month never changes.
//  5. Nothing is closed while an action is carried out in batches, which take effect on
//     the action's day: a counter says so, and the writer judges it.
//
// Callers: api (Service), cmd (New).
//
// Rejected: a month that is first marked as closing and gets its hash afterwards. It
// would need no repetition, but a kill would leave a month that is neither open nor
// closed, and somebody to take it up.
package period

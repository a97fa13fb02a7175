// Package simulator is the provider of the sandbox: a card rail that decides
// from well-known card numbers, remembers what it did in a log of its own, and
// moves no money.
//
// The log has one line of JSON a call, written with one write(2) before the
// call is answered:
//
//	{"reference":"…","terminal":"…","operation":"payment","outcome":"pending","then":"charged","at":"2026-11-21T10:15:35.000000Z","org":"…","sum":"7d1f0a93"}
//
// outcome is what the caller was told, reason why not. Where then is set the
// rail acts once more, at the instant at: it charges what was pending or
// unknown, or it takes back what was charged. sum is the CRC-32C of all that is
// before it in the line.
//
// Invariants:
//  1. A call that was answered is in the log, whole. A process killed at any
//     point loses none, because a write that returned outlives the process.
//  2. A call that is not in the log never happened: if the line can't be
//     written the answer is "failed", and what was written of it is cut off
//     before anything else is.
//  3. Lines are calls, so counting a reference's lines counts provider calls.
//     Inquiries write nothing.
//  4. What an inquiry answers is a function of the line and of the clock.
//  5. A call is known by terminal and reference. One transaction may try
//     several terminals, and each of them is a contract of its own with the rail.
//  6. The second call of one terminal and reference is logged as a copy of the
//     first line and gets the first one's answer. It is recognised while the
//     first is among the last indexed calls; later it would be decided anew.
//  7. Memory is bounded: the index holds the last indexBound calls, the sieve
//     has a fixed size, the list of chargebacks holds the last chargebackBound.
//     What they no longer hold is read from the log.
//  8. A damaged line is never read as another one: Open verifies every line,
//     and so does whoever reads one later.
//  9. A card's number decides and is gone. No line has it, or its holder or CVV.
//
// Callers: cmd/mizan with --sandbox; tests of actors.
//
// Rejected: an embedded database, or rows in the platform's store. The
// simulator plays the other side, whose memory must survive whatever happens to
// ours; sharing a store would lose both together and prove nothing. Rejected
// too: a sync after each line. Power cuts lose sandbox calls that nobody paid.
package simulator

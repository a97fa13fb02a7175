// Package simulator is the provider of the sandbox: a rail that decides from
// well-known card numbers and money_storage types, holds, captures, voids and
// refunds, asks payers on a challenge page, takes charges back, remembers what
// it did in a log of its own, and moves no money.
//
// The log has one line of JSON a call, written with one write(2) before the
// call is answered. All values are strings. A charge begins with a line such as
//
//	{"reference":"…","terminal":"…","operation":"payment","outcome":"pending","then":"charged","at":"2026-11-21T10:15:35.000000Z","amount":"1000","org":"…","sum":"7d1f0a93"}
//
// and goes on with lines such as
//
//	{"reference":"…","terminal":"…","operation":"refund","request":"…","outcome":"charged","charge":"payment","status":"charged","captured":"1000","refunded":"400","at":"…","amount":"1000","before":"0","org":"…","sum":"…"}
//
// Of the call: operation (as actors.Operation names it, or challenge for the
// payer's decision, or reissue for what was published anew), request, outcome (as payment.Verdict names it, or approved
// or refused), reason, and done, when a refund that is under way is done. Of
// the charge as the call left it: charge (what opened it), status and cause
// (its verdict and reason), captured, refunded, amount, then (what the rail does
// next: it charges or holds what is pending, unknown or waits for its payer, it
// takes back what is charged), at (when, or else since when the charge is what
// it is), refunds, challenge, answer, asset, return_url, and of what is to be signed
// sequence and expires. before is where the
// charge's line before this one begins. A charge's first line leaves out what it
// says of the call already. sum is the CRC-32C of all that is before it.
//
// Invariants:
//  1. A call that was answered is in the log, whole and durable: neither a kill nor a
//     power cut loses it. All calls in flight share one sync (flush.go). What an
//     inquiry or a report rests on is durable before it is told, too.
//  2. A call that is not in the log never happened: if the line can't be
//     written the answer is "not sent", and what was written of it is cut off
//     before anything else is. If the sync fails, calls in flight are unknown, their
//     lines are cut off, and all later ones are "not sent": after a failed sync no
//     other one proves anything.
//  3. Lines are calls, payers' decisions and what was published anew, so counting a
//     reference's lines of an operation counts provider calls. Inquiries write nothing.
//  4. What an inquiry answers is a function of the lines and of the clock. A
//     charge's newest line tells all of the charge; what was called before is
//     in the lines that before leads to.
//  5. A charge is known by terminal and reference. One transaction may try
//     several terminals, and each of them is a contract of its own with the rail.
//  6. The same call again, by operation and request, is logged with the first
//     one's outcome, gets the first one's answer and changes nothing. Complete,
//     Capture, Void and Refund are always recognised. A Pay or PayOut is while
//     its charge is among the last indexBound, and would be decided anew later:
//     to search the log for each new reference that the sieve takes for a known
//     one would slow all payments down.
//  7. Calls of one charge take turns, so that each is decided on what the one
//     before left.
//  8. Memory is bounded: the index holds the last indexBound charges, the sieve
//     has a fixed size, the list of chargebacks holds the last chargebackBound.
//     What they no longer hold is read from the log.
//  9. A damaged line is never read as another one: Open verifies every line's
//     sum, and whoever reads one later takes only what would be written again
//     to the letter.
//  10. A card's number decides and is gone. No line has it, or its holder or CVV,
//     or the material that a payer submitted. A charge that waits for its payer
//     asks for the card again.
//  11. A token that charges a card again (tokens.go) says nothing of the card but how
//     it was charged. It is in no line: it is made anew from the charge's.
//  12. Only who has a challenge's token sees it or decides on it. No
//     line has the token, but return_url may hold one of the service's pages:
//     the file is for its owner only.
//
// Callers: cmd/mizan with --sandbox, api for the challenge page, tests of actors.
//
// Rejected: an embedded database, or rows in the platform's store. The
// simulator plays the other side, whose memory must survive whatever happens to
// ours; sharing a store would lose both together and prove nothing. Rejected
// too: no sync at all. A power cut then took back calls whose outcome the ledger had
// booked, and the checker's rule on provider calls failed from then on. And lines that say only what changed: an inquiry would have to read all lines
// of a charge, and damage of one would leave the rest standing on nothing.
package simulator

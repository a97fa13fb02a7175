// Package courier carries one notification to a merchant's address, once, and says
// what became of it. When an attempt is made, and whether another one follows, is
// its caller's business.
//
// Invariants:
//  1. An envelope is formed when its attempt begins: the timestamp, and with it the
//     signature, are of that instant. The event's id and data are the caller's, and
//     the same each time.
//  2. What is signed is what is sent, byte for byte. Without a secret there are no
//     signature headers at all.
//  3. Any 2xx acknowledges, as soon as its header is there: the body says nothing,
//     and whether it arrives, breaks or is endless changes nothing. No answer is
//     read past 64 KiB of body; a line with more on it is closed.
//  4. An attempt has 5 s for its connection (name, TCP and TLS together) and 15 s in
//     all, of real time, for which every read, write and look-up has a deadline.
//  5. Each new connection is checked at the address that is dialled, behind the
//     name's look-up, so that no answer of a name server gets round it: unless
//     Options.AllowPrivate is set, it is on the internet, on whatever port. IPv4
//     in a form of IPv6 is dialled, and checked, as the IPv4 that it is. No proxy of
//     the environment is used, no redirect followed and no cookie kept.
//  6. There is no retry, but for one case: a line that was kept from an earlier
//     delivery and ends before a byte of an answer. Servers close idle connections
//     as they like, and a request that crosses with that was most likely never read.
//     It is sent once more, over a line of its own, within the same 15 s; the attempt
//     is one, and a receiver that had read it after all knows the event_id. A line
//     that was opened for the attempt, a deadline that passes and an answer that has
//     begun are never tried again.
//  7. A line is used again only if its answer was read to the end and nothing came
//     after it, neither then nor while it was idle: the next delivery must not be
//     acknowledged by what is left of the last one.
//  8. No more connections are open than Options.MaxConns, idle ones counted. Of a
//     destination nothing is remembered beyond its idle lines, so these are bounded
//     too. A delivery that finds all places taken waits, before its attempt begins;
//     an idle line never keeps a new one from being opened.
//  9. Idle lines are closed after 30 s, and no line is used for more than 5 minutes,
//     so that a name that moves is followed.
//  10. Nothing of an address's path or query, of a body, a secret or a header is in
//     an Attempt or in the log.
//
// Callers: actors/notifier.
//
// Rejected: net/http's client, which works, and costs two goroutines a connection and
// more than twice the processor a delivery. Also rejected: fasthttp's client, whose pool
// can't be made to keep this contract. Its connections are bounded a host, not in
// all; each host has goroutines that sleep and can't be ended; it uses a connection
// again without looking whether something is left on it; of a broken first byte it
// tells only EOF; and it takes any first word for a protocol and a status of 0 for
// 200. Its parser of headers and bodies is used, behind a check of the first line and
// once a header is whole: it begins anew with each piece that comes.
// Also rejected: sending again whatever failed before an answer. A receiver that
// dies of a notification would get it twice as often.
package courier

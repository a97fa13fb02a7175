// Package notifier delivers what the journal tells somebody outside: merchants at
// their notification addresses, operators by Telegram and e-mail.
//
// A notice is part of the Change that caused it: the writer puts it on a page of its
// organization's notices in the same group. Once the group is durable the journal
// hands the notices over; each goes to the actor of its destination, which has
// workers carry a few at a time; what becomes of them is written down by the actor
// of its organization's office.
//
// Rows. A notice that is acknowledged at its first attempt, as nearly all are, costs
// its share of two rows: the page that it is on, and a row of marks for what was
// acknowledged of that page at about the same time. Only a delivery that failed, or
// had to wait, has rows of its own: itself, and one that says when it is due (or that
// it is parked) and is empty. So a million of them that wait cost neither memory nor
// a start's time: in memory there is one instant for each destination.
//
// Invariants:
//  1. Nothing is told before it is durable, and nothing that is durable is forgotten:
//     what is neither marked, nor delivered, nor parked is tried, also after a kill.
//  2. A delivery is named by the booked time of its event and its channel. Its
//     event_id follows from that, is the same at every attempt, and finds it again.
//  3. The sixth attempt is the last, until somebody asks for it again. The gaps
//     between them count from the failure before, by the business clock.
//  4. Destinations do not wait for each other. One of which nothing is known has one
//     worker; one that has failed, or takes more than a second to answer, at most four,
//     who take one notice at a time and share a pool with those of others like it. Those
//     that answer quickly have another, and up to sixteen workers each. Of a destination
//     nothing is remembered after a minute, or a restart, but what waits in the store:
//     it says that it has failed.
//  5. Of one that has failed no more than 64 fresh notices, and of all together no more
//     than 65,536, wait in memory: the rest waits in the store, and counts until it is
//     there. What is read from there counts, too; at the bound as many are read of a
//     destination as it has workers. Beyond 8,192, or where it is not known that a
//     destination answers, the records of what waits behind 64 others are not kept at
//     hand.
//  6. An attempt that was interrupted by the end of the process is none. Those operators
//     whom it has reached are not told again.
//  7. Only an organization's office writes its rows, one Change at a time, and decides
//     on what everything that it submitted before will have left.
//  8. Where a notification goes, and with which secret it is signed, is looked up at
//     each attempt: who changes an address or rotates a secret is heard at once.
//  9. Every attempt is work under way, so that a manual clock that is stepped waits
//     for all that were due, and for what they lead to.
//  10. What is over is kept for the retention, and on an organization's last page of
//     notices until there is a later one. What is pending is kept however old it is.
//     An organization that cannot be swept keeps nothing of others.
//  11. After a fault of ours in memory some notices may be told twice, never none. What
//     it has lost is looked for at once; after one that comes again, or where that
//     fails, later and later, by real time: a fault neither spins nor sends a storm.
//     A row that is wrong holds nothing back but itself.
//  12. The cursor never goes back.
//  13. What the writer may refuse, because it claims an Idempotency-Key, is alone in its
//     Change: nothing else is lost with it.
//  14. A page of a list reads a bounded number of rows, whatever it is asked for. What
//     waits or is parked is found by the rows that say so, not among what was delivered.
//
// Callers: cmd (New, Resume, Close), api (everything else), snapshots (ReadFrom and
// the forms of rows).
//
// Rejected: a record and a journal event for each delivery, with a due row. It is
// what everything else does here, and cost more than the payment that it told of.
// Also rejected: telling from the transaction's actor; one dead receiver would keep
// its transactions alive, and there is no actor after a restart.
package notifier

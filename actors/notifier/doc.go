// Package notifier delivers notifications from the journal: to merchants at their notification addresses, to
// operators by Telegram and e-mail, and to payers, who get the addresses of their receipts by e-mail.
//
// A notice says that somebody is to be notified of an event. It is part of the Change (the rows that become durable
// together) that books the event: the journal's writer puts it on a page (one stored row with consecutive notices)
// of its organization. When the Change is durable, the journal offers the notice to the actor of its destination,
// whose workers deliver a few notices at a time. The actor of the organization's delivery log writes down the
// results. A delivery that fails too often is parked: it is given up until someone requests it again.
//
// Invariants:
//  1. Only durable events are notified, and every notice of a durable event is tried, also after a kill, until the
//     store has its acknowledgement or its delivery is parked.
//  2. A delivery is identified by the booked time of its event and its channel; its event_id is computed from
//     these, is the same at every attempt and leads back to the delivery.
//  3. The sixth attempt is the last until someone requests the delivery again; the time until the next
//     attempt counts from the previous failure, by the business clock.
//  4. Destinations do not wait for each other: an unknown destination has one worker, a failing or slow one has at
//     most four, from a pool that only such destinations use, and a quick one has up to sixteen.
//  5. An idle destination's state is kept for a minute. After a restart, a destination that has waiting deliveries
//     in the store counts as failing.
//  6. At most 64 fresh notices of a failing destination and 65,536 of all destinations wait in memory; further
//     ones wait in the store.
//  7. An attempt that the end of the process interrupts does not count, and operators who were reached
//     by it do not get the message again.
//  8. Only an organization's delivery log writes the organization's delivery rows, one Change at a time, and each
//     Change is decided on the state after the previous one.
//  9. Each attempt looks up its address and secret, so a changed address or a rotated secret takes effect at
//     once.
//  10. Every attempt counts as work in progress, so a move of a manual clock waits for all attempts that were due
//     and for their consequences.
//  11. Finished deliveries are kept for the retention time, pending ones without limit; if their removal fails
//     in one organization, it goes on in the others.
//  12. A panic may cause duplicate notifications but loses none; the search for lost notices is delayed more with
//     each repeated panic.
//  13. A row that cannot be read stops no other delivery.
//  14. An organization's cursor is the page of notices from which a search for lost notices starts: every notice on
//     an earlier page has been tried, or has a row in which it waits. The cursor never goes back.
//  15. A request that the writer may refuse, because it claims an Idempotency-Key, is alone in its Change.
//  16. A page of a list reads a bounded number of rows; it finds waiting and parked deliveries by their own rows,
//     not among the delivered ones.
//  17. A notice of a receipt holds no address and no text: each attempt reads them from the transaction's record. Receipts
//     have workers of their own, so they delay neither merchants nor operators.
//  18. A listener delays no delivery: what waits for it in memory is bounded, and one that reads too slowly ends.
//
// Callers: cmd (New, Resume, Close), api (everything else), snapshots (the forms of rows).
//
// Rejected: a record and a journal event per delivery, with a timer, as elsewhere in Mizan; this cost more than the
// payment. Also rejected: notifying from the transaction's actor; one dead receiver would
// keep its transactions in memory, and after a restart the actor does not exist.
package notifier

// Package notifier tells merchants, operators and payers about events of the journal. Merchants are notified at their
// notification addresses, operators by Telegram and e-mail, and payers get the addresses of their receipts by e-mail.
//
// A notice says that a merchant, an operator or a payer is to be notified of an event. The notice is part of the
// Change (the rows that become durable together) that books the event. The journal's writer puts the notice on a page
// (one stored row with consecutive notices) of its organization. When the Change is durable, the journal offers the
// notice to the actor of its destination (one receiver), whose workers deliver a few notices at a time. The actor of
// the organization's delivery log stores the results. A delivery that fails too often is parked: it is not tried
// again until someone requests it.
//
// Invariants:
//  1. Only durable events are notified. Every notice of a durable event is tried until its acknowledgement is stored
//     or its delivery is parked, even if the process is killed meanwhile.
//  2. A delivery is identified by its channel and the booked time of its event. The delivery's event_id is computed
//     from these two values, so it is the same at every attempt.
//  3. The sixth attempt is the last until someone requests the delivery again. The time until the next attempt counts
//     from the previous failure, by the business clock.
//  4. Destinations do not wait for each other. Until the first attempt for a destination has a result, the destination
//     has one worker. A quick destination has up to sixteen workers, and a failing or slow one has at most four, from a
//     pool that only such destinations use. All failing destinations of merchants together make at most 200 attempts a
//     second after the first 500, in turns, so that they leave the processors to payments. With a manual clock they do
//     not take turns, because of invariant 10.
//  5. An idle destination's state is kept for a minute. After a restart, a destination that has waiting deliveries
//     in the store counts as failing.
//  6. At most 64 fresh notices of a failing destination, and 65,536 of all destinations, wait in memory. Further
//     notices wait in the store.
//  7. An attempt that is interrupted by the end of the process does not count. Operators whom the attempt reached do
//     not get the message again.
//  8. Only an organization's delivery log writes the organization's delivery rows. It writes one Change at a time,
//     and each Change is based on the state that the previous one left.
//  9. Each attempt looks up its address and secret, so a changed address or a rotated secret takes effect at
//     once.
//  10. Every attempt counts as work in progress. So when a manual clock is moved, the move ends only after all
//     attempts that became due, and what follows from them.
//  11. Finished deliveries are kept for the retention time, pending ones without limit. If the removal fails for
//     one organization, it continues for the others.
//  12. A panic may cause duplicate notifications but loses none. Each repeated panic makes the delay before the
//     search for lost notices longer.
//  13. A row that cannot be read does not affect other deliveries.
//  14. An organization's cursor is the page of notices from which a search for lost notices starts. Every notice on
//     an earlier page has been tried or has a row as a pending delivery. The cursor never goes back.
//  15. A request that the writer may refuse, because it claims an Idempotency-Key, is alone in its Change.
//  16. To list a page of deliveries, a bounded number of rows is read. Waiting and parked deliveries have index
//     rows, so a list of them does not search through the delivered ones.
//  17. A notice on the channel for receipts holds no address and no text: each attempt to send the payer's e-mail reads
//     both from the transaction's record. Receipts have workers of their own, so they delay neither merchants nor
//     operators.
//  18. A listener (a stream of notifications to a client) delays no delivery. The number of its notices in memory is
//     bounded, and a listener that reads too slowly is ended.
//
// Callers: cmd (New, Resume, Close), api (everything else), snapshots (the forms of rows).
//
// Rejected: one design would give each delivery a record, a journal event and a timer, like other objects in Mizan.
// It was not chosen because a delivery would cost more than the payment that it reports. In another design the actor
// of each transaction would send the transaction's notifications. It was not chosen because one dead receiver would
// keep all its transactions in memory, and because the actor no longer exists after a restart.
package notifier

// Package desk watches over terminals for those who run them, their operators: it
// hears of outcomes and tells of spikes of failures, and it sums up each day. Of single
// transactions actors/payment tells itself, in the Change that it is about.
//
// Invariants:
//  1. What is told is handed to the Board, which makes it durable and tells it once for
//     its key: a summary of a day is told once, however often it is made.
//  2. A day of UTC is summed up at the first instant of the next one, by the clock, and
//     its mark is written when all terminals have theirs. After a restart the day
//     behind the mark is next, so none is left out; of more than MaxDays only the last
//     are summed up, because nobody reads the others. The first start marks the day
//     before, and a day on which there was nobody to tell is marked too: nobody is told
//     of days before there was an installation, a terminal, or anybody to tell.
//  3. Before a day is read a Change is made durable: everything that was booked in the
//     day is durable then too.
//  4. A summary holds what was started on the day, as it stands when it is read, like
//     GET /transactions/aggregate. Of a transaction without a terminal the operators of
//     the partner's notification-only terminal are told.
//  5. One partner's summaries are in memory at a time. What is read is that of partners
//     whose operators can be told, on the runtime's pool, and a stop ends it.
//  6. Spikes are counted in memory, for at most MaxWatched terminals: a restart forgets
//     them. Where operators cannot be told, nothing is counted and nothing allocated.
//
// Callers: actors/payment (through Observe), the runtime's clock; cmd/mizan.
//
// Rejected: an actor for each terminal. An outcome would cost a message, and what is
// done with it is an addition under a lock. Also rejected: counting a day's summary as
// it goes. It would have to be made durable with each payment.
package desk

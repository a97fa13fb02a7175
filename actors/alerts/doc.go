// Package alerts notifies the recipients whom a terminal lists of two things: spikes of failed transactions at
// the terminal, and each day's totals. Alerts about a single transaction are decided by actors/payment, in the
// Change of that transaction.
//
// Invariants:
//  1. An alert is handed to the Notifier with a key. The Notifier makes it durable and sends
//     it once per key, so a summary that is computed twice is sent once.
//  2. A UTC day is summarized at the first instant of the next day, by the clock. The day is stored
//     as summarized once all of its summaries are posted, so after a restart the next day follows
//     and none is skipped. If more than MaxDays days were missed, only the last MaxDays are
//     summarized.
//  3. The first start stores the preceding day as summarized. A day that ends without recipients is
//     stored as summarized too. So nobody gets a summary of a day before the installation, the
//     terminal or the recipient existed.
//  4. Before the transactions of a day are read, a Change is made durable. The journal makes
//     Changes durable in order, so everything that was booked on the day is durable by then.
//  5. A summary covers the transactions started on the day, each in its state at the time when the
//     summary is computed, as GET /transactions/aggregate does. Transactions without a terminal count for the
//     partner's terminal of type merchant.
//  6. Only one partner's summaries are in memory at a time. Summaries are computed on the
//     runtime's pool, for partners with recipients only, and the end of the runtime cancels them.
//  7. Failures are counted in memory, for at most MaxDetectors terminals, and from zero after a
//     restart. Terminals without recipients cost neither memory nor time.
//
// Callers: cmd/mizan; actors/payment and the runtime's clock through Observe and Poll.
//
// Rejected: an actor per terminal. Each outcome would cost a message where an addition under
// a lock is enough. Also rejected: daily totals that are updated with each payment. They
// would have to be durable with each payment.
package alerts

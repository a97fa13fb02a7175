// Package alerts notifies the recipients whom a terminal (a merchant's connection to a provider) lists. It notifies
// them of spikes of failed transactions at the terminal, and of each day's totals. Package actors/payment decides
// about alerts on single transactions.
//
// Invariants:
//  1. Each alert has a key. The Notifier makes the alert durable and sends only one alert per key, so a summary that
//     is computed twice is sent once.
//  2. The clock triggers the summary of a UTC day at the first instant of the next day. The day is stored as
//     summarized once all of its summaries are posted. So no day is skipped after a restart, unless more than MaxDays
//     days were missed: then only the last MaxDays days are summarized.
//  3. The first start stores the preceding day as summarized. A day that ends without recipients is stored as
//     summarized too. So nobody gets a summary of a day before the installation, the terminal or the recipient
//     existed.
//  4. Before the transactions of a day are read, a Change (a write to the journal) is made durable. The journal makes
//     Changes durable in order, so by then everything that was booked on the day is durable.
//  5. A summary covers the transactions that started on the day. Each transaction is counted with the state that it
//     has when the summary is computed, like in GET /transactions/aggregate. Transactions without a terminal count
//     for the partner's terminal of type merchant.
//  6. Only one partner's summaries are in memory at a time. Summaries are computed only for partners with recipients,
//     on the runtime's pool of goroutines. When the runtime stops, the computation is cancelled.
//  7. Failures are counted in memory for at most MaxDetectors terminals. A restart sets the counts to zero. Terminals
//     without recipients cost neither memory nor time.
//
// Callers: cmd/mizan; actors/payment (Observe); the runtime's clock (Poll).
//
// Rejected: An actor for each terminal was not chosen, because each outcome would cost a message, although an
// addition under a lock is enough. Daily totals that are updated with each payment were not chosen, because the
// totals would have to be durable with each payment.
package alerts

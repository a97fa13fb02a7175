// Package follower reads durable events of transactions in the background, for consumers that keep something that
// follows from these events: the figures of turnover (actors/turnover) and the index of a search (actors/search).
//
// Invariants:
//  1. Payments neither wait for a consumer nor write anything for it. The Follower reads the journal in runs on the runtime's
//     pool of goroutines, with a pause of a second after each run. Under load a run ends after a fiftieth of the pause, so
//     all consumers together take at most two percent of a processor. If two percent are not enough, the consumers fall behind, and
//     catch up when fewer events are booked.
//  2. Each consumer has a position in the journal of each organization: the seq (number) of the last event that it has. It gets
//     each later event once, in order, also while another consumer has another position, for example because it is new or
//     because a crash came between the writes of both.
//  3. Consumers with the same position get the same chunk, in which each event is parsed once, and the record of each
//     transaction is read and decoded at most once. A consumer that is behind joins the others when it reaches their position.
//  4. If a consumer fails, the others get their events nevertheless. The consumer gets its events again in the next run.
//  5. A consumer is called by one goroutine at a time.
//
// Callers: cmd/mizan (New, Start), the consumers (Add, CatchUp, Submit).
//
// Rejected: In another design each consumer would have a loop of its own. It was not chosen because each would read and decode
// every record again. In a third design payments would report their events when they become durable. It was not chosen because
// reports arrive in another order than the journal's, and a restart after a crash has to read the journal anyway.
package follower

// Package follower reads durable events of transactions in the background and passes them to consumers. A
// consumer computes something from the events: turnover figures (actors/turnover) or the search index
// (actors/search).
//
// Invariants:
//  1. Payments neither wait for a consumer nor write anything for it. The Follower reads the journal in runs on the runtime's
//     pool of goroutines, with a pause of a second after each run. Under load a run ends after a fiftieth of the pause, so
//     all consumers together take at most two percent of a processor. If two percent are not enough, the consumers fall behind,
//     and catch up when fewer events are booked.
//  2. Each consumer has a position in the journal of each organization: the seq (number) of the last event that the consumer
//     has processed. The consumer gets each later event once and in order. Positions of consumers may differ, for example
//     because a consumer is new or because a crash came between the writes of two consumers.
//  3. Consumers with the same position get the same chunk, in which each event is parsed once, and the record of each
//     transaction is read and decoded at most once. A consumer that is behind joins the others when it reaches their position.
//  4. If a consumer fails, the other consumers still get their events. The failed consumer gets its events again in the
//     next run.
//  5. A consumer is called by one goroutine at a time.
//
// Callers: cmd/mizan (New, Start), the consumers (Add, CatchUp, Submit).
//
// Rejected: In another design each consumer would have its own loop. It was not chosen because every record would be read and
// decoded once per consumer. In a third design payments would report their events when the events become durable. It was not
// chosen because the reports arrive in another order than the events in the journal, and after a crash the journal has to be
// read anyway.
package follower

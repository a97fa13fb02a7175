// Package bench measures the speed of payments and contracts through a real server, and of transfers through the journal (the
// sequence of durable events) alone. It also measures whether the response time of a refused request reveals why the request was
// refused.
//
// The requests are sent by package generator. The workloads here prepare the bytes of a request once, and then
// change only the bytes that differ from one request to the next, such as an id.
//
// Invariants:
//  1. A run whose ledger is wrong fails. The ledger's totals must equal the charged amounts exactly, including
//     the fees that follow from the rules of the terminals (the partners' connections to a provider). Before
//     this check, the run looks up each payment with an unknown outcome by its txid.
//  2. The server is a separate process, syncs its writes, and stores them on a real disk. A report names the
//     file system.
//  3. Each process that a run has started is stopped by its pid, even if the run fails.
//  4. Many merchants (partners with terminals and API keys) are created in a data directory that no server has open. They are
//     created by the same actor that creates merchants for the API. The values of their keys are only in a file beside the
//     store.
//  5. When the response times of different kinds of refused requests are compared, the requests are sent in random order on one
//     connection, so that other work of the machine affects all kinds equally.
//
// Callers: cmd/mizan.
//
// Rejected: Creating merchants through the API was considered; it was not chosen because the API hashes each
// partner's password, which takes minutes for ten thousand partners, and writes each record on its own.
package bench

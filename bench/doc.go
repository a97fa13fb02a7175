// Package bench measures payments and contracts through a real server, transfers through the
// journal alone, and whether the time of a refusal reveals its reason.
//
// The load generator shares the machine with what it measures, so it must cost little: one goroutine
// for each raw connection, request bytes prepared once in which only the id is changed, two system
// calls for each request, and responses that are scanned instead of decoded.
//
// Invariants:
//  1. With a rate, a latency counts from the instant at which the request was due, so that a stalled
//     server can't hide the requests that it delayed. Requests that were due and never sent are counted
//     too, with their waiting times.
//  2. A run whose ledger is wrong gives no figures: the ledger's totals must equal the charged
//     amounts exactly. Before that check, a payment with an unknown outcome is looked up by its
//     txid.
//  3. The server is a separate process, syncs its writes, and stores them on a real disk. A report names
//     the file system.
//  4. Everything that was started is stopped, by pid, whatever fails.
//  5. Many merchants (partners with terminals and API keys) are created in a data directory that no server
//     has open, by the actor that also creates them for the API. The values of their keys are only in a file
//     beside the store.
//  6. To compare kinds of refusals, requests are sent in random order on one connection, so that other
//     work of the machine affects all kinds equally.
//
// Callers: cmd/mizan.
//
// Rejected: net/http or fasthttp as the client; their allocations, parsing and goroutine
// switches would take CPU from the server. One epoll loop without goroutines; it would need its
// own TLS. Creating merchants through the API; it hashes each partner's password, which takes
// minutes for ten thousand, and writes each record on its own.
package bench

// Package bench measures payments and contracts through a real server, transfers
// through the journal alone, and whether the time of a refusal reveals its reason.
//
// The load generator shares the machine with what it measures, so it is built
// to cost little: one goroutine for each raw connection, request bytes prepared once
// with only the id patched, two system calls a request, and answers that are scanned
// instead of decoded.
//
// Invariants:
//  1. With a rate, a latency counts from the instant at which the request was due: a
//     stalled server can't hide the requests that it delayed. Requests that were due
//     and never sent are counted, with the time that they waited.
//  2. A run whose ledger is wrong gives no figures: its totals have to match the
//     charged amounts exactly. Before that, a payment with an unknown outcome is
//     looked up by its txid.
//  3. The server is another process, with sync on, on a real disk; a report names
//     the file system.
//  4. Everything that was started is stopped, by pid, whatever went wrong.
//  5. Many merchants are created in a data directory that no server has open, by the
//     directory actor's own decisions. The values of their keys are in a file beside
//     the store only.
//  6. Kinds of refusals are compared in random order on one connection, so that other
//     work of the machine affects them alike.
//
// Callers: cmd/mizan.
//
// Rejected: net/http or fasthttp as the client; their allocations, parsing and
// goroutine switches would take CPU from the server. One epoll loop without
// goroutines; TLS would have to be written anew on top of it. Creating merchants
// through the API; it hashes each partner's password, which takes minutes for ten
// thousand, and makes each record a Change of its own.
package bench

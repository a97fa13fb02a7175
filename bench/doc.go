// Package bench measures: payments through a real server, transfers through the
// journal alone, and whether the time of a refusal tells why a key is not let in.
//
// The load generator shares the machine with what it measures, so it is built
// to cost little: a goroutine and a raw connection each, request bytes prepared
// once with only the id patched, two system calls a request, and an answer that
// is looked at rather than decoded.
//
// Invariants:
//  1. With a rate, a latency counts from the instant at which the request should
//     have been sent: a stalled server can't hide what it made wait. What was due
//     and never sent is counted, with the time that it had waited.
//  2. A figure is never taken from a server that lost or made up money: after a
//     run the ledger's totals have to match what was charged, exactly. A payment
//     whose outcome is not known is asked for again, by its txid, before that.
//  3. The server is another process, with sync on, on a real disk; a report names
//     the file system.
//  4. Everything that was started is stopped, by pid, whatever went wrong.
//  5. Many merchants are made in a data directory that no server has open, by the
//     directory's own decisions. Their keys' values are in a file beside the store
//     and nowhere else.
//  6. Kinds of refusals are compared in random order on one connection, so that
//     whatever else the machine does comes to all of them alike.
//
// Callers: cmd/mizan.
//
// Rejected: net/http or fasthttp as the client. What they allocate, parse and
// hand from goroutine to goroutine for each request would be taken from the
// server's share of the cores. Rejected too: one epoll loop without goroutines.
// It spares switches, but TLS would have to be written anew on top of it. Rejected
// too: making merchants through the API. Each partner's password is hashed there,
// which for ten thousand takes minutes, and each record is a Change of its own.
package bench

// Package generator sends requests over many connections to a server and measures the responses.
//
// The generator must cost little, because it shares the machine with the measured server. Each connection has one goroutine.
// The workload (the caller's source of requests) prepares the bytes of a request once, and later changes only a few of them. A
// request takes two system calls, and a response is scanned instead of decoded.
//
// Invariants:
//  1. In a run with a rate (requests per second), a latency is measured from the instant at which the request was due. So if
//     the server stalls, the delay of later requests is measured too. Requests that were due but never sent are counted with
//     the time that they have waited.
//  2. A response is either parsed completely or refused. If a response has a form that the server never sends, or if bytes
//     follow it, that is an error.
//  3. The memory of a run does not grow with the number of its requests, because latencies are kept in histograms of
//     a fixed size.
//  4. Run closes every connection that it has opened, and returns only after every exchange has ended.
//
// Callers: bench, bench/faults/load.
//
// Rejected: Another design would use net/http or fasthttp as the client. It was not chosen because their allocations,
// parsing and goroutine switches would take processor time from the server. A third design would have one epoll loop
// without goroutines. It was not chosen because it would need a TLS implementation of its own.
package generator

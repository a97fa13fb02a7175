// Package generator sends requests over many connections and measures the responses.
//
// It shares the machine with the server that it measures, so it must cost little. Each raw connection has one
// goroutine. The workload prepares the bytes of a request once, and later changes only a few of them. A request takes
// two system calls, and a response is scanned instead of decoded.
//
// Invariants:
//  1. With a rate, a latency counts from the instant at which the request was due, so that a stalled
//     server can't hide the requests that it delayed. Requests that were due and never sent are counted
//     too, with their waiting times.
//  2. A response is parsed completely or refused. A response in a form that the server does not use is an error, and so
//     are bytes after a response.
//  3. The memory of a run does not grow with the number of its requests: latencies are kept in histograms
//     of a fixed size.
//  4. Run returns only after every exchange has ended, and closes every connection that it has opened.
//
// Callers: bench, bench/faults/load.
//
// Rejected: net/http or fasthttp as the client; their allocations, parsing and goroutine switches would
// take CPU from the server. One epoll loop without goroutines; it would need its own TLS.
package generator

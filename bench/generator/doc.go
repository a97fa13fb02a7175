// Package generator sends requests over many connections and measures the responses.
//
// It shares the machine with what it measures, so it must cost little: one goroutine for each raw
// connection, request bytes that the workload prepares once and of which it changes only a few, two
// system calls for each request, and responses that are scanned instead of decoded.
//
// Invariants:
//  1. With a rate, a latency counts from the instant at which the request was due, so that a stalled
//     server can't hide the requests that it delayed. Requests that were due and never sent are counted
//     too, with their waiting times.
//  2. A response is parsed as a whole or refused. A response with another form than the server's, or more
//     bytes than one response, is an error.
//  3. The memory of a run does not grow with the number of its requests: latencies are kept in histograms
//     of a fixed size.
//  4. Run returns only after every exchange has ended, and closes every connection that it has opened.
//
// Callers: bench, bench/faults/load.
//
// Rejected: net/http or fasthttp as the client; their allocations, parsing and goroutine switches would
// take CPU from the server. One epoll loop without goroutines; it would need its own TLS.
package generator

// Package load tests that a real server survives more load than it can carry. At the same time the server has
// everything that makes an overload worse: many connections, slow readers and writers, thousands of merchants,
// and notifications to receivers that do not answer. The soak test of the package looks for leaks under an even
// load.
//
// The capacity is the number of payments a second that the server charges when each client waits for its response.
// TestServerSurvivesOverload offers a half, once, twice and five times the capacity. Invariants at each of these loads:
//  1. The capacity and the loads that are compared with it are measured alternately, in the same run and under the same
//     conditions. So the result is a ratio, on which other work of the machine has little influence.
//  2. The server charges nearly all payments that are offered, or as many a second as its capacity if more are offered,
//     also while it retries the notifications of dead receivers.
//  3. A payment that is not refused is answered within a second.
//  4. During the load the health check is answered, over a new connection each time.
//  5. Anonymous memory stays below a bound.
//  6. A merchant whose receiver works is notified of each charged payment, even if many notifications wait for
//     receivers that do not answer.
//  7. At the end `mizan audit verify` finds no fault in the closed store.
//
// Rates and times are judged only in rounds in which other processes used at most a tenth of the processors;
// otherwise they are only printed. The other invariants are judged in every run.
//
// TestSoakLeaks runs for a long time under a constant load, while the manual clock moves forward by several days each minute.
// Its invariant:
//  8. Memory, open files, goroutines and threads do not grow, and the store grows by a bounded number of bytes for each
//     payment. Whether something grows is decided by the lower confidence bound of its slope (package trend).
//
// Callers: none; the package has only tests. MIZAN_SOAK=10m runs the overload with twenty thousand connections and ten
// thousand merchants, and then looks for leaks for ten minutes.
//
// Rejected: A time-out for each request in the client was considered; it was not chosen because a client that
// gives up hides how long the server would have taken.
package load

// Package load puts a real server under more load than it can carry, and at the same time under everything that makes an
// overload worse: many connections, slow readers and writers, thousands of merchants, and notifications to receivers that do
// not answer. Its soak test looks for leaks under an even load.
//
// Invariants at a half, once, twice and five times the capacity, which is the number of payments a second that the
// server charges when each client waits for its response (TestServerSurvivesOverload):
//  1. The capacity is measured in the same run, alternately with the loads that are compared with it, under the same conditions.
//     So the result is a ratio, on which other work of the machine has little influence.
//  2. At five times the capacity the server charges nearly as many payments a second as at the capacity.
//  3. A payment that is not refused is answered within a second.
//  4. The health check, over a new connection each time, is answered meanwhile.
//  5. Anonymous memory stays below a bound.
//  6. A merchant whose receiver works is notified of each charged payment, however many notifications wait for receivers that do
//     not answer.
//  7. At the end the closed store passes `mizan audit verify`.
//
// Rates and times are judged only in rounds in which other processes used at most a tenth of the processors; otherwise they are
// only printed. The other invariants are judged in every run.
//
// Invariant over a long time under an even load, while the manual clock moves by days in every minute (TestSoakLeaks):
//  8. Memory, open files, goroutines and threads do not grow, and the store grows by a bounded number of bytes for each payment.
//     The lower confidence bound of each slope decides (package trend).
//
// Callers: none; its tests are the campaign. MIZAN_SOAK=10m runs the overload with twenty thousand connections and ten
// thousand merchants, and then looks for leaks for that time.
//
// Rejected: a time-out for each request in the client. A client that gives up hides how long the server would have taken.
package load

// Package load puts a real server under more load than it can carry, with everything at once that makes it worse: many
// connections, slow readers and writers, thousands of merchants, and notifications to receivers that do not answer. Its soak
// test looks for leaks under an even load.
//
// Invariants, at half of the capacity, once, twice and five times as much (TestServerSurvivesOverload):
//  1. The capacity is measured in the same run, in turn with the loads that are compared with it, under the same conditions. So the
//     result is a ratio, and what else the machine does changes it little.
//  2. At five times the capacity the server charges nearly as many payments a second as at the capacity.
//  3. A payment that is not refused is answered within a second.
//  4. The health check, over a new connection each time, is answered meanwhile.
//  5. Anonymous memory stays below a bound.
//  6. A merchant whose receiver works is notified of each charged payment, however many notifications wait for receivers that do
//     not answer.
//  7. At the end the closed store passes `mizan audit verify`.
//
// Rates and times are judged only in rounds in which other processes used at most a tenth of the processors; otherwise they are
// printed. The rest holds on every machine.
//
// And over a long time under an even load (TestSoakLeaks), with days of the manual clock in every minute:
//  8. Memory, open files, goroutines and threads do not grow, and the store grows by a bounded number of bytes for each payment,
//     by the lower confidence bound of the slope (package trend).
//
// Callers: nobody; its tests are the campaign. MIZAN_SOAK=10m runs the overload with twenty thousand connections and ten
// thousand merchants, and then looks for leaks for that time.
//
// Rejected: a limit of time for each request in the client. A client that goes away hides how long the server would have taken.
package load

// Package metrics has the figures that --metrics-listen serves in Prometheus' format.
//
// Invariants:
//  1. Labels have values of small, closed sets: routes' patterns and not paths, providers and not terminals, no organization, partner
//     or record. So the number of time series is bounded.
//  2. What happens on the path of a payment is counted without a lock that all payments share, and without an allocation.
//     Everything else is read when the figures are served.
//  3. The figures of a part of the server exist from the moment at which the part is registered.
//  4. Each metric has a row in docs/operations.md, and each row of its table names a metric.
//
// Callers: cmd/mizan/serving, which registers each part when it has opened the part.
//
// Rejected: metrics declared in the packages that they are about. Those packages would depend on Prometheus, and what
// there is to see would be spread over all of them.
package metrics

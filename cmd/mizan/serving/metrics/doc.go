// Package metrics has the figures about the running server that --metrics-listen serves in Prometheus' format.
//
// Invariants:
//  1. The values of labels come from small, closed sets, so the number of time series is bounded. For example, a
//     label has a route's pattern and not a path, or a provider and not a terminal. No label names an organization, a
//     partner or a record.
//  2. Events on the path of a payment are counted without an allocation and without a lock that all payments share.
//     All other figures are read when they are served.
//  3. The figures of a part of the server exist as soon as the part is registered.
//  4. Each metric has a row in docs/operations.md, and each row of its table names a metric.
//
// Callers: cmd/mizan/serving (registers each opened part).
//
// Rejected: Another design would declare each metric in the package that it is about. It was not chosen because those
// packages would depend on Prometheus, and no single place would list all metrics.
package metrics

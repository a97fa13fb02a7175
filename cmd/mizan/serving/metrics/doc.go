// Package metrics collects figures about the running server. They are served in Prometheus' format on the address of
// --metrics-listen.
//
// Invariants:
//  1. The values of labels come from small, closed sets, so the number of time series is bounded. For example, a label contains
//     the pattern of a route and not a path, or a provider and not a terminal. No label names an organization, a partner or a
//     record.
//  2. Events of payments are counted without an allocation and without a lock that all payments share. All other figures are
//     read when a client requests them.
//  3. The figures of a part of the server exist as soon as the part is registered.
//  4. The table in docs/operations.md has a row for each metric, and no other rows.
//
// Callers: cmd/mizan/serving, which registers each part that it opens.
//
// Rejected: Declaring each metric in the package that it is about was considered. It was not chosen because those packages
// would depend on Prometheus, and because no single place would list all metrics.
package metrics

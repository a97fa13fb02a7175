// Package body reads the bodies of HTTP requests, with bounds on their size, on their rate and on the memory that
// they take.
//
// Invariants:
//  1. A body is read after its caller is known and before the request is carried out, so that a caller that
//     sends slowly occupies only its own connection.
//  2. Memory is allocated for bytes that have arrived, never for an announced length.
//  3. The memory of all bodies stays within a budget, and the memory of one organization or one address within a
//     quarter of the budget. Callers whose credentials were checked have a separate budget.
//  4. A body that arrives more slowly than the minimum rate is refused.
//  5. Trailers (fields after a body) never become headers.
//  6. A body is overwritten after its handler has returned.
//
// Callers: package api.
//
// Rejected: another design would use fasthttp's limit on bodies. It was not chosen because fasthttp allocates memory
// before the caller is known, and because the limit cannot differ between routes.
package body

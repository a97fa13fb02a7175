// Package body reads the bodies of requests under bounds of size, rate and memory.
//
// Invariants:
//  1. A body is read after its caller is known and before the request is carried out, so that a caller that
//     sends slowly occupies only its own connection.
//  2. Memory is allocated for bytes that have arrived, never for an announced length.
//  3. The bodies held at once stay within a budget, and one organization or one address
//     within a quarter of it. Callers whose credentials were checked have another budget than
//     all others.
//  4. A body that arrives more slowly than the minimum rate is refused.
//  5. Trailers never become headers.
//  6. A body is overwritten after its handler.
//
// Callers: package api.
//
// Rejected: fasthttp's body limit. It allocates before the caller is known, and a bound
// for each route is not possible.
package body

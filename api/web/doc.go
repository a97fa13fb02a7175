// Package web is the common part of all route families: the request and its route, access,
// strict JSON in and out, errors, lists and their queries, idempotency keys.
//
// Invariants:
//  1. A route declares its callers as data, and one function checks them (access.go).
//  2. A body is strict JSON: one value, valid UTF-8, no name twice, bounded depth. Names match
//     exactly.
//  3. Strings and slices from the router are valid only inside the handler. Handlers copy what
//     they keep.
//  4. One table maps refusal codes to responses (errors.go), and a test covers every code.
//  5. Responses never repeat bad input beyond a bound, and logs contain no bodies and no details
//     of refusals.
//  6. A record of another organization gets exactly the same response as one that does not exist.
//
// Callers: the route families payments, contracts, admin, ledger and checkout; package api,
// which runs their routes. Families import web and its subpackages, and never each other.
//
// Rejected: Fiber's BodyParser, which accepts forms and XML, ignores the case of names and keeps the
// last of two members with one name. Middleware for authentication: a route without it would be open
// to everyone, while a route without an Access admits nobody. encoding/json for responses: it uses
// reflection on the hot path.
package web

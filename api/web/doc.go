// Package web is what all route families share: the request and its route, who may
// call, strict JSON in and out, errors, lists and their queries, idempotency keys.
//
// Invariants:
//  1. A route says who may call it as data, and one function checks it (access.go).
//  2. A body is strict JSON: one value, valid UTF-8, no name twice, bounded depth. Names
//     match exactly.
//  3. Strings and slices from the router are valid only inside the handler. Handlers copy
//     what they keep.
//  4. One table maps refusal codes to answers (errors.go), and a test covers every code.
//  5. Answers never repeat bad input beyond a bound, and logs hold no bodies and no details
//     of refusals.
//  6. What belongs to another organization is answered exactly as what does not exist.
//
// Callers: the route families payments, contracts, admin, ledger and checkout; package
// api, which runs their routes. Families import web and its subpackages, and never each
// other.
//
// Rejected: Fiber's BodyParser, which takes forms and XML, ignores the case of names and
// keeps the last of two equal ones. Middleware for authentication: a route without it
// would be open to everyone, while a route without an Access admits nobody. encoding/json
// for answers: it reflects on the hot path.
package web

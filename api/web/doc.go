// Package web has what all route families (the packages that handle the API's requests) share: requests and routes,
// access, strict JSON in and out, errors, lists and their queries, and idempotency keys.
//
// Invariants:
//  1. A route declares its callers as data, and one function checks them (access.go).
//  2. A body is strict JSON: one value in valid UTF-8, with no name twice and with a bounded depth. Names match
//     exactly.
//  3. Strings and slices from the router are valid only inside the handler. Handlers copy what
//     they keep.
//  4. One table maps refusal codes to responses (errors.go), and a test covers every code.
//  5. Responses repeat bad input only up to a bounded length. Logs contain no bodies and no details of refusals.
//  6. A request for a record of another organization gets the same response as a request for a record that does not
//     exist.
//
// Callers: the route families payments, contracts, admin, ledger and checkout, package api (runs their routes).
// Families import web and its subpackages, and never each other.
//
// Rejected: one design would use Fiber's BodyParser. It was not chosen because BodyParser accepts forms and XML,
// ignores the case of names, and keeps the last of two members with the same name. Another design would check access
// in middleware. It was not chosen because a route without the middleware would be open to everyone, while a route
// without an Access admits nobody. A third design would use encoding/json for all responses. It was not chosen
// because encoding/json uses reflection, which is slow for the most frequent responses.
package web

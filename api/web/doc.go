// Package web is what all route families (the packages that handle the API's requests) share: requests and routes,
// access, reading and writing of strict JSON, errors, lists and their queries, and idempotency keys.
//
// Invariants:
//  1. A route declares as data who may call it, and one function checks this for all routes (access.go).
//  2. A body is strict JSON: a single value in valid UTF-8, in which no object has two equal names and the depth is
//     bounded. Names of members must match exactly.
//  3. Strings and slices that a handler gets from the router are valid only until the handler returns. Handlers copy
//     what they keep longer.
//  4. One table maps refusal codes to responses (errors.go), and a test covers every code.
//  5. If a response repeats bad input, the repeated part has a bounded length. Logs contain no bodies and no details
//     of refusals.
//  6. The response to a request for another organization's record is the same as if the record did not exist.
//
// Callers: the route families payments, contracts, admin, ledger, storefront, checkout and reference, and package
// api, which runs their routes. Families import web and its subpackages, but never another family.
//
// Rejected: one design would use Fiber's BodyParser. It was not chosen because BodyParser also accepts forms and
// XML, ignores the case of names, and accepts two members with the same name. Another design would check access in
// middleware. It was not chosen because a route for which somebody forgets the middleware is open to everyone, while
// a route without an Access admits nobody. A third design would use encoding/json for all responses. It was not
// chosen because encoding/json uses reflection, which is slow for the most frequent responses.
package web

// Package api is the HTTP server of the service. It runs the routes of its subpackages (payments, contracts, admin,
// ledger, checkout, reference) behind one listener. Every request passes one guard, which refuses ambiguous requests
// and wipes bodies (guard.go), and one pipeline of steps (server.go).
//
// Invariants:
//  1. The cost of a request is bounded before anything else happens. The bounds are on the size of its headers and
//     body, on the nesting and digits of its JSON, and on the time that it takes. A request that HTTP parsers can
//     read in different ways (two hosts, two lengths, a length beside a transfer encoding) is refused, and its
//     connection is closed.
//  2. Every request passes the same steps in the same order: guard, access, rate, media type, body, handler. A
//     command is a request that may write. It also waits until it may join the running commands, whose number package
//     shed limits, and it waits while a manual clock is being moved.
//  3. Every response has an x-request-id that the service has made. Every 401 has the same bytes,
//     whatever is wrong with the credentials.
//  4. Bodies are never logged, and are overwritten after the handler.
//  5. The table in routes.go lists every route, and each of them is served.
//  6. The description of the API (package description) has every route. The tests check every request and response against it.
//  7. Shutdown returns after all handlers and exports have ended.
//
// Callers: cmd/mizan, bench, tests.
//
// Rejected: Another design would use Fiber's chains of middleware. It was not chosen because a route would silently
// skip a step that was forgotten in its chain. Here the pipeline reads the steps from the route's fields.
package api

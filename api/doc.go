// Package api is the HTTP server of the service. It serves the routes of its subpackages (payments, contracts,
// admin, ledger, checkout, reference) on one listener. Every request passes the guard, which refuses ambiguous
// requests and wipes bodies (guard.go), and then the same steps (server.go).
//
// Invariants:
//  1. The cost of a request is bounded before anything else happens. The bounds concern the size of the headers and the
//     body, the nesting and the digits of the JSON, and the time. A request that two HTTP parsers could read in different
//     ways (two hosts, two lengths, or both a length and a transfer encoding) is refused, and its connection is closed.
//  2. Every request passes the same steps in the same order: guard, access, rate, media type, body, handler. A
//     command is a request that may write. A command also waits while a manual clock is being moved, and until there
//     is a place among the running commands, whose number package shed limits.
//  3. Every response has an x-request-id that the service has generated. Every response with status 401 has the same
//     body, whatever is wrong with the credentials.
//  4. Bodies are never logged, and are overwritten after the handler.
//  5. newRoutes in routes.go returns every route, and the server serves all of them.
//  6. The description of the API (package description) contains every route except those of the console. The tests
//     check every request and response against it.
//  7. Shutdown returns after all handlers and exports have ended.
//
// Callers: cmd/mizan, bench, tests.
//
// Rejected: Another design would use Fiber's chains of middleware. It was not chosen because a step that somebody forgot to
// add to a route's chain would be skipped silently. Here every route passes all steps, and the route's fields configure them.
package api

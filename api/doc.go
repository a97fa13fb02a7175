// Package api serves HTTP: it runs the routes of its subpackages (payments, contracts, admin,
// ledger, checkout, reference) behind one listener, one guard (guard.go) and one pipeline of steps (server.go).
//
// Invariants:
//  1. The cost of a request is bounded before anything else happens: the size of its headers and
//     body, the nesting and digits of its JSON, and the time that it takes. A request that HTTP parsers can read in different ways (two hosts,
//     two lengths, a length beside a transfer encoding) is refused and the connection closed.
//  2. Every request passes the same steps in the same order: guard, access, rate, media type,
//     body, then the handler. A command (a request that may write) also waits for its turn
//     (package shed), and while a manual clock is being moved.
//  3. Every response has an x-request-id that the service has made. Every 401 has the same bytes,
//     whatever is wrong with the credentials.
//  4. Bodies are never logged, and are overwritten after the handler.
//  5. The table in routes.go lists every route, and each of them is served.
//  6. The description of the API (package description) has every route, and every exchange of the tests is as described.
//  7. Shutdown returns after all handlers and exports have ended.
//
// Callers: cmd/mizan starts a Server; bench and tests send requests to a Server of their own.
//
// Rejected: Fiber's middleware chain. A route to which a step was not added would skip it silently; here
// the pipeline reads the steps from the route's fields.
package api

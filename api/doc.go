// Package api serves HTTP: it runs the routes of the families (payments, contracts,
// admin, ledger, checkout) behind one listener, one guard and one pipeline.
//
// Invariants:
//  1. What a request may cost is bounded before anything else happens: size of headers and
//     body, nesting, digits, time. What HTTP parsers read differently (two hosts, two
//     lengths, a length beside a transfer encoding) is refused and the connection closed.
//  2. Every request passes the same steps in the same order: guard, access, rate, media
//     type, body, then the handler. A command also waits for its turn and for the manual
//     clock.
//  3. Every answer has an x-request-id of the service's own. A 401 is the same bytes
//     whatever was wrong.
//  4. Bodies are never logged, and are overwritten after the handler.
//  5. Every route stands in the table that routes.go assembles, and every route there
//     works.
//  6. Shutdown returns when no handler and no export is at work any more.
//
// Callers: cmd/mizan starts a Server; bench and tests drive one.
//
// Rejected: Fiber's middleware chain. A step that a route forgets would be left out
// silently; here the pipeline reads the steps off the route.
package api

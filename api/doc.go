// Package api speaks HTTP: routes, handlers, and one table from refusal codes to
// answers. It is the only importer of Fiber.
//
// Invariants:
//  1. What a request may cost is bounded before anything else happens: size of
//     headers and body, nesting, digits, time. What HTTP parsers read
//     differently (two hosts, two lengths, a length beside a transfer encoding)
//     is refused and the connection closed. A body is read when its caller is known,
//     as it comes, within a budget and at a minimum rate (body.go); trailers are no
//     headers.
//  2. Bodies are strict JSON and names match exactly. Whatever outlives a handler
//     is copied, because Fiber reuses its buffers.
//  3. Every answer has an x-request-id of our own and is JSON in one of the
//     specification's shapes; those to payers are pages (package page) or lead to
//     one. A 401 is the same bytes whatever was wrong.
//  4. A foreign id is answered as one that nobody has.
//  5. Bodies are never logged and are overwritten after the handler, and so is
//     what the connection's buffer kept of them.
//  6. Handlers read through a posting.View and write through actors only. A
//     command that writes is bracketed, so that a manual clock never moves under it.
//  7. Every route stands in one table; none is there that does not work.
//  8. A payer's page opens to its token only, which is checked before anything is
//     read; without it all pages are one 404. The token is in no log. A browser
//     is sent to http and https addresses only, and a merchant's is left as it is.
//  9. A page of the transaction list, one of deliveries and one of contracts reads a bounded number
//     of records, whatever it filters; aggregates, which read all there is, are bounded in number and time.
//     Contracts are counted by counters; a report on charity reads so many events or is refused.
//  10. A write's Idempotency-Key is claimed by the actor with what it makes. A
//     request is told from others by a keyed hash: it may hold a card.
//  11. A notification of another platform is checked before it is read, with the
//     same work and one answer for whatever is wrong. It is a hint and no more.
//  12. An export is answered when the first of it is there, and outlives its handler.
//     No organization has all places. It reads the journal in pieces and has no view
//     open while its reader is waited for; what can't be finished breaks the
//     connection, and Shutdown returns when none reads any more.
//
// Callers: cmd/mizan starts a Server; bench and tests drive one.
//
// Rejected: Fiber's own BodyParser (it takes forms and XML, ignores the case of
// names and keeps the last of two), its middleware chain for authentication (a
// route without it would be open; here a route names its access or does not
// compile), and encoding/json for answers (reflection on the hot path).
package api

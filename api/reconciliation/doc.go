// Package reconciliation serves the API's routes with which finance compares settlement reports of providers with the ledger:
// uploads of reports, the list of differences and the decisions on them, the summary, and the closing of days.
//
// Invariants:
//  1. The administration token writes. The organization's auditors and administrators read. A partner reads nothing, because a
//     report shows what the institution has with its provider.
//  2. An upload is read from its bytes; the name and the type that a client gives to a file are ignored.
//  3. An upload that is repeated answers the same report, so its route needs no Idempotency-Key. Decisions and closings take one.
//
// Callers: api (the table of routes).
//
// Rejected: routes in api/admin. That package would get a second reader of uploads and the roles of auditors, and has its share
// of files.
package reconciliation

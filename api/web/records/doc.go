// Package records handles requests that write records whose types are tables of columns (package
// ledger/schema). It reads request bodies and reports all wrong fields at once. If a request's Idempotency-Key
// was used before, the package repeats the stored reply.
//
// Callers: api/admin, api/storefront.
//
// Rejected: Putting this code into package web was considered; it was not chosen because the routes of payments
// and contracts, which also use web, handle bodies and idempotency keys in other ways.
package records

// Package records serves writes of records whose types are tables of columns (ledger/schema): it reads forms, reports all
// wrong fields at once, and repeats the cached reply to a request whose Idempotency-Key has been used before.
//
// Callers: api/admin, api/storefront.
//
// Rejected: this code in package web. Routes of payments and contracts have bodies and idempotency keys of their own.
package records

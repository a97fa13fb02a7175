// Package resource makes the pages of records in the console (the service's web pages for people) from the
// API's description. For each kind of record there are lists with filters, a page of one record with its
// related lists, and forms that create, change or operate on a record. A kind of record needs only a
// configuration (Kind).
//
// Invariants:
//  1. The fields that a page shows or sends come from the description. A new column appears in lists, on the
//     page of a record and in forms without a change here.
//  2. Pages read and write only through the API. A page has no button for an operation that the person may not
//     call. The API refuses such a call anyway.
//  3. The page of a list makes one request to the API, for one page of rows.
//
// Callers: api/console/admin, contracts and partner.
//
// Rejected: A template for each kind of record was considered; it was not chosen because each new column would
// need changes in four places.
package resource

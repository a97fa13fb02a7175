// Package resource makes the console's pages of records from the API's description. (The console is the service's
// web pages for people.) Each kind of record gets a list with filters, a page for one record with related lists,
// and forms that create a record, change it, or carry out an operation on it. A new kind of record needs only a
// configuration (Kind).
//
// Invariants:
//  1. The fields that a page shows or sends come from the description. A new field of the API appears in lists, on
//     the page of a record and in forms without a change of this package.
//  2. Pages read and write only through the API. A page has no button for an operation that the person may not
//     call. The API refuses such a call anyway.
//  3. To show a list, a page sends the API one request, for one page of rows.
//
// Callers: api/console/admin, contracts and partner.
//
// Rejected: a template for each kind of record, because each new column would need changes in four places.
package resource

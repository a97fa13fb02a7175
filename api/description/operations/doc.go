// Package operations describes every operation of the API as data, from which package description makes the API's
// reference. Each method of each path has one entry, with its parameters, bodies, responses, refusals and examples.
// The webhooks (notifications to merchants) are described too.
//
// Invariants:
//  1. Every route of the server has an operation, and every operation has a route. description.New panics if a route has no
//     operation, and a test of package api finds operations without a route.
//  2. Statuses, error codes, currencies, languages, types of money_storage, events and the fields of records come from the Go
//     tables that the service itself uses.
//  3. A test of package api validates every request and response of the package's tests against these declarations.
//     The test fails if a member is missing in a declaration or has another type.
//  4. A test sends the examples to a server, and compares the responses with the recorded ones (examples.json).
//
// Callers: api/description/reference, tests of package api.
//
// Rejected: another design would put each declaration beside its handler. It was not chosen because the handlers'
// code would be mixed with explanations, and because each package would repeat common facts, such as the paging of
// lists.
package operations

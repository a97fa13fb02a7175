// Package operations declares every operation of the API, as data for package description: one entry for each method of
// each path, with its parameters, bodies, responses, refusals and examples, and the webhooks.
//
// Invariants:
//  1. Every route of the server has an operation, and every operation a route: spec.New panics at the first, and
//     a test of package api finds the second.
//  2. Statuses, error codes, currencies, languages, types of money_storage, events and the fields of records are those of
//     the Go tables that the service runs with.
//  3. A test of package api validates every request and response of api's tests against these declarations. So
//     a member that is missing here, or has another type, fails a test.
//  4. Examples are sent to a server by a test, and the recorded responses (examples.json) are compared with its responses.
//
// Callers: package reference; tests of package api.
//
// Rejected: declarations beside the handlers. A route family would mix what it does with how it is explained, and common
// facts, such as the paging of lists, would be told in each family.
package operations

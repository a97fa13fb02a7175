// Package operations declares every operation of the API as data. Package description makes the OpenAPI document from these
// declarations. Each method of each path has one declaration, with the parameters, the bodies, the responses, the refusals
// and the examples. The webhooks (notifications to merchants) are also declared here.
//
// Invariants:
//  1. Every route of the server has an operation, and every operation has a route. description.New panics if a route has no
//     operation, and a test of package api finds operations without a route.
//  2. Statuses, error codes, currencies, languages, types of money_storage, events and the fields of records are not repeated
//     here. They come from the Go tables that the service itself uses.
//  3. A test of package api validates every request and response of the package's tests against these declarations. The test
//     fails if a body has a member that is not declared, or that has another type than declared.
//  4. A test sends the examples to a server, and compares the responses with the recorded responses in examples.json.
//
// Callers: api/description/reference, tests of package api.
//
// Rejected: declarations beside the handlers. The code of the handlers would be mixed with explanations, and each package
// would repeat common facts, such as the paging of lists.
package operations

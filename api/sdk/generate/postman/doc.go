// Package postman writes a collection of requests for Postman, and for other programs that read its format (v2.1).
// The collection has a folder for each tag of the API's description, and a request for each example.
//
// Invariants:
//  1. Credentials and addresses are variables, which the collection leaves empty.
//  2. If a later request needs a value of a response, a script stores the value in a variable, as the description's examples
//     do. So a folder can be run from its first request to its last.
//
// Callers: api/sdk/generate.
//
// Rejected: another design would leave the import of the OpenAPI document to Postman. It was not chosen because
// Postman fills bodies with random words, and because requests that need an id from an earlier response can't be
// sent.
package postman

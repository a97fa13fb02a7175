// Package postman writes a collection of requests in Postman's format v2.1, for Postman and other programs that read the
// format. The collection has a folder for each tag of the API's description, and a request for each example.
//
// Invariants:
//  1. Credentials and addresses are variables, which the collection leaves empty.
//  2. If a request needs a value of an earlier response, a script stores the value in a variable. So all requests of a
//     folder can be run in their order.
//
// Callers: api/sdk/generate.
//
// Rejected: another design would let Postman import the OpenAPI document. It was not chosen because Postman would fill
// bodies with random words, and requests that need an id from an earlier response could not be sent.
package postman

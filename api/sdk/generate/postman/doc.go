// Package postman writes a collection of requests for Postman and the programs that read its format (v2.1): a folder for each
// tag, and a request for each example of the description.
//
// Invariants:
//  1. Credentials and addresses are variables, which the collection leaves empty.
//  2. What the response to a request is needed for later is kept in a variable by a script, as the description's examples keep
//     it. So a folder can be run from its first request to its last.
//
// Callers: api/sdk/generate.
//
// Rejected: Postman's own import of an OpenAPI document. It makes bodies of random words, and no request that needs the id of
// another one's response can be sent.
package postman

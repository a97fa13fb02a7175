// Package spec has the types in which the API is described: operations, parameters, schemas, responses, refusals,
// examples and webhooks. Values of these types are plain data. Package description converts them to an OpenAPI
// document.
//
// Invariants:
//  1. The schema of a record is made from the columns that the record has in package ledger/schema (see
//     columns.go), so that a field is declared only once.
//  2. The schema of an object in a response is closed, so the object has only the described members, unless
//     OpenObject made the schema. In a request, objects are open, because the service ignores unknown members.
//
// Callers: packages that declare, publish or read the description: for example operations, description, reference
// and sdk/generate.
//
// Rejected: the types of a library for OpenAPI. They have a field for every keyword of the standard, and most
// fields are pointers, so the declarations of operations would be unreadable.
package spec

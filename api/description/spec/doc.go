// Package spec has the types with which the API is described: operations, parameters, schemas, responses,
// refusals, examples and webhooks. They are plain data, which package description writes as an OpenAPI
// document.
//
// Invariants:
//  1. The schemas of records are made from their columns (columns.go), so that a field is declared once.
//  2. An object in a response is closed (it has no other members than the described ones), unless OpenObject
//     makes it. An object in a request is open, because the service ignores unknown members.
//
// Callers: packages that declare, publish or read the description, such as operations, description, reference
// and sdk/generate.
//
// Rejected: The types of a library for OpenAPI were considered; they were not chosen because they have a field
// for every keyword of the standard, mostly as pointers, which would make the declarations of operations
// unreadable.
package spec

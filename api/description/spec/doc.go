// Package spec has the vocabulary in which the API is described: operations, parameters, schemas, responses, refusals,
// examples and webhooks. It is data; package description writes it as a document.
//
// Invariants:
//  1. The schemas of records are made of their columns (columns.go), so that a field is declared once.
//  2. An object in a response is closed unless it is made by OpenObject, and one in a request is open, because the service
//     ignores members that it does not know.
//
// Callers: packages operations, description and reference.
//
// Rejected: the types of a library for OpenAPI. They have a field for every keyword of the standard, mostly as pointers, so
// that a table of operations could not be read.
package spec

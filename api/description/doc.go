// Package description writes the description of the API as an OpenAPI 3.1 document. Package spec has the types of the
// declarations, and package operations declares the operations.
//
// Invariants:
//  1. An operation is declared once. The declaration leaves out everything that derive.go can derive. The web.Route
//     determines who may call the operation, whether it takes an Idempotency-Key, and which usual refusals it has. A
//     table in package web determines the status and the form of each refusal.
//  2. The document describes the routes of the server that serves the document, and no others. If a route has no
//     operation, the server panics when it starts.
//  3. The same declarations always result in the same bytes, because members are written in the order of their
//     declaration.
//  4. The document is made once, when it is first requested. Other requests do not use this package.
//
// Callers: package reference, and tests of package api.
//
// Rejected: a tool that generates the document from comments or struct tags. A tag has no room for the explanations that
// a caller needs, and nothing would compare the tags with the routes. Also rejected: a document written by hand in YAML,
// because it would repeat each field that ledger/schema declares.
package description

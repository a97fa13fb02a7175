// Package description writes the description of the API as an OpenAPI 3.1 document. Package spec has the vocabulary, and
// package operations declares the operations.
//
// Invariants:
//  1. An operation is declared once. The declaration leaves out all that derive.go can derive. The callers, the
//     Idempotency-Key and the refusals that all such routes have are derived from the web.Route. The status and form
//     of each refusal are derived from a table of package web.
//  2. The document describes exactly the routes of the server that serves it. If a route has no operation, the server
//     panics when it starts.
//  3. The same declarations always give the same bytes: members are written in the order of their declaration.
//  4. The document is made once, at the first request for it. Other requests do not run this package.
//
// Callers: package reference, and tests of package api.
//
// Rejected: another design would let a tool generate the document from comments or struct tags. It was not chosen
// because a tag has no room for the explanations that a caller needs, and nothing would compare the tags with the
// routes. A document written by hand in YAML was not chosen because it would repeat each field that ledger/schema
// declares.
package description

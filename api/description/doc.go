// Package description writes the description of the API as an OpenAPI 3.1 document. Package spec has the vocabulary, and
// package operations declares the operations.
//
// Invariants:
//  1. An operation is declared once. What the program knows already is derived from what it runs: who may call an operation,
//     its Idempotency-Key and the refusals of every such route from its web.Route (derive.go), the status and form of
//     a refusal from the table of package web.
//  2. The document describes exactly the routes of the server that serves it. A route without an operation panics at start.
//  3. Equal data gives equal bytes: members are written in the order of their declaration.
//  4. Nothing here runs while a payment is served: the document is made once, when somebody first asks for it.
//
// Callers: package reference, and tests of package api.
//
// Rejected: comments or struct tags from which a tool generates the document. A tag has no room for what a caller needs
// to know, and nothing would compare it with the routes. A document written by hand in YAML would repeat each field that
// ledger/schema declares.
package description

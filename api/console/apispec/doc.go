// Package apispec reads the description of the API for the console (the web pages for the users of an
// organization): the fields of lists, forms and filters, and the operations on each kind of record. The console makes
// its pages from this description, so a new column or a new kind of record needs no code in the console.
//
// Invariants:
//  1. The package reads the Go values of api/description/spec once, when the server starts, and not for each page.
//  2. Fields have the names that the API uses, and stay in the order of the description.
//  3. If the console names an operation or a schema that does not exist, the server panics when it starts.
//
// Callers: the packages of api/console.
//
// Rejected: reading the OpenAPI document. It lacks information that the Go values have, such as which texts are
// amounts of money, and every page would depend on a parser of JSON Schema.
package apispec

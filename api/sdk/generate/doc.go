// Command generate writes the generated files of the API's clients: those below api/sdk. `make sdk` runs it.
//
// Invariants:
//  1. The files come from the description of the API, and from nothing else.
//  2. A test fails if a file differs from what the command writes now.
//
// Callers: developers who have changed the description.
//
// Rejected: oapi-codegen and ogen. From OpenAPI 3.1 with alternatives, lists of types and merge patches they make code with a
// type for each inline object, pointers for most fields and amounts as texts, which need a layer by hand to be shown to a
// merchant; and they need libraries at run time.
package main

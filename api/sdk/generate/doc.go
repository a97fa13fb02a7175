// Command generate writes the generated files of the API's clients: those below api/sdk. `make sdk` runs it.
//
// Invariants:
//  1. The files come from the description of the API, and from nothing else.
//  2. A test fails if a file differs from what the command writes now.
//
// Callers: developers who have changed the description.
//
// Rejected: oapi-codegen and ogen. Both refuse the document (a list of more than two types, an alternative of objects). From a copy
// without what it refuses, oapi-codegen 2.8 makes 216,000 lines, with four layers for each call, amounts as texts, and nothing for
// pages, retries and notifications: more would be written by hand than is generated here.
package main

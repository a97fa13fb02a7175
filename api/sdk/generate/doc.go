// Command generate reads the API's description and writes the generated files of the API's clients (the folders
// below api/sdk). `make sdk` runs it.
//
// Invariants:
//  1. The description of the API is the only source of the files.
//  2. A test fails if a generated file differs from what the command would write now.
//
// Callers: developers who have changed the description.
//
// Rejected: another design would use the generators oapi-codegen or ogen. Neither was chosen because both refuse the
// API's description, in which a value may have more than two types, and an object may have one of several forms.
// From a copy of the description without these, oapi-codegen 2.8 generates 216,000 lines, in which each call passes
// four layers and amounts are texts. It generates no code for pages, retries and notifications, so more code would
// have to be written by hand than this command generates.
package main

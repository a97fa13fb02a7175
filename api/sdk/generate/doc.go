// Command generate writes the generated files of the API's clients (the folders below api/sdk) from the API's
// description. `make sdk` runs it.
//
// Invariants:
//  1. The description of the API is the only source of the files.
//  2. A test fails if a file differs from the command's present output.
//
// Callers: developers who have changed the description.
//
// Rejected: another design would use the generators oapi-codegen or ogen. Neither was chosen because both refuse the
// API's description, which has lists of more than two types and alternatives of objects. From a copy without these,
// oapi-codegen 2.8 makes 216,000 lines, with four layers for each call and with amounts as texts. It makes nothing
// for pages, retries and notifications, so more code would be written by hand than this command generates.
package main

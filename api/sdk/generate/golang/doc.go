// Package golang writes the generated files of the Go client, api/sdk/go: its types, its methods, and the tables of currencies
// and refusals.
//
// Invariants:
//  1. A field of a response that may be absent or null is the zero value of its Go type then, except numbers, truth values,
//     amounts and objects, whose zero value would mean something: these are pointers.
//  2. A field of a request that is not required is left out if it is the zero value or nil.
//  3. A field of a merge patch is a Change, because absent and null differ.
//
// Callers: api/sdk/generate.
//
// Rejected: a template for each file. The choices are in the types of fields, and a template has no place for functions.
package golang

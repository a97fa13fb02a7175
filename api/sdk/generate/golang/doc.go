// Package golang writes the generated files of the service's Go client (api/sdk/go): its types, its methods,
// and the tables of currencies and refusals.
//
// Invariants:
//  1. A field of a response that is absent or null becomes the zero value of its Go type. Optional numbers,
//     booleans, amounts and objects are pointers, because their zero value could be mistaken for a value.
//  2. A field of a request that is not required is left out if it is the zero value or nil.
//  3. A field of a merge patch (a request that changes only some fields of a record) is a Change, because an
//     absent field and a null field differ in meaning.
//
// Callers: api/sdk/generate.
//
// Rejected: A template for each file was considered; it was not chosen because most of the work is choosing the
// types of fields, which is easier in Go functions than in a template.
package golang

// Package golang writes the generated files of the service's Go client (api/sdk/go): its types, its methods,
// and the tables of currencies and refusals.
//
// Invariants:
//  1. A field of a response that is absent or null becomes the zero value of its Go type. Optional numbers,
//     booleans, amounts and objects are pointers, because otherwise an absent value would look like a zero that
//     was sent.
//  2. If a field of a request is not required, and its value is zero or nil, the field is not sent.
//  3. A field of a merge patch (a request that changes only some fields of a record) has the type Change,
//     because an absent field and a null field have different meanings.
//
// Callers: api/sdk/generate.
//
// Rejected: A template for each file was considered. It was not chosen because most of the work is to choose
// the types of fields, which is easier in Go functions than in a template.
package golang

// Package model is what a client of the API has to know: operations with their parameters, bodies and results, and
// named types. It is a walk over the description, which all generators of clients share.
//
// Invariants:
//  1. Everything comes from the description. A generator adds only how a language writes it.
//  2. Every object with known members is a named Type. An object without a name of its own is named after the operation
//     or type and the member in which it occurs.
//  3. Types, operations and fields are in the order of the description, so equal descriptions give equal clients.
//
// Callers: the generators of api/sdk/generate.
//
// Rejected: a generator for all languages such as openapi-generator, whose clients have a class for each inline object
// and alternative, lose amounts in floating-point numbers, and need libraries.
package model

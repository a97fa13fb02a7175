// Package model converts the description of the API to the form that the generators of API clients share: operations
// with their parameters, bodies and results, and named types.
//
// Invariants:
//  1. All data comes from the description. A generator adds only the syntax of its language.
//  2. Every object with known members is a named Type. An object without a name of its own gets a name made of two
//     parts: the operation or type in which it occurs, and the member.
//  3. Types, operations and fields are in the order of the description, so the same description always gives the same clients.
//
// Callers: the generators of api/sdk/generate.
//
// Rejected: Another design would use one generator for all languages, such as openapi-generator. It was not chosen
// because its clients have a class for each inline object and alternative, convert amounts to floating-point numbers,
// and need libraries.
package model

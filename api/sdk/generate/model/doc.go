// Package model converts the description of the API to the form that the generators of API clients share: operations
// with their parameters, bodies and results, and named types.
//
// Invariants:
//  1. All data in the clients comes from the description. A generator adds only the syntax of its language.
//  2. Every object with known members is a named Type. If the description does not name an object, its name consists of two
//     parts: the operation or type in which the object occurs, and the member that contains it.
//  3. Types, operations and fields are in the order of the description, so the same description always gives the same clients.
//
// Callers: the generators of api/sdk/generate.
//
// Rejected: Another design would use one generator for all languages, such as openapi-generator. It was not chosen because its
// clients have a class for each object without a name and for each alternative, convert amounts to floating-point numbers, and
// depend on libraries.
package model

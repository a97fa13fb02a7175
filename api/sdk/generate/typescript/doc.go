// Package typescript writes the generated files of the API's TypeScript client. They contain the types of requests and
// responses, and the shapes, which are tables that list where these types have amounts. For each kind of caller they contain a
// class with the caller's operations.
//
// Invariants:
//  1. A caller's class has exactly the operations that the caller's credential permits, except those whose response is neither
//     JSON nor CSV.
//  2. The files for one kind of caller import no files for another kind, so that a partner's client does not load the
//     operator's types.
//  3. An amount in minor units is a bigint, and a shape lists its place. All other values have their JSON type.
//
// Callers: command generate.
//
// Rejected: another design would use openapi-typescript. It was not chosen because openapi-typescript makes only types:
// amounts would be texts, and each call in a program would have to spell out the path and the document's nested types.
package typescript

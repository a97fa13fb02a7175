// Package typescript writes the generated files of the API's TypeScript client. They contain the types of requests
// and responses, the shapes (tables that list where these types have amounts), and a class with the operations of
// each kind of caller.
//
// Invariants:
//  1. A caller's class has exactly those operations that the caller's credential permits and whose responses are JSON
//     or CSV.
//  2. The files of one caller import no file of another caller, so that a partner's client loads none of the operator's types.
//  3. A value in minor units is a bigint, and the shape of its type lists it. All other values have their JSON type.
//
// Callers: command generate.
//
// Rejected: another design would use openapi-typescript. It was not chosen because openapi-typescript makes only
// types: amounts would be texts, and every call would have to name the path and the nested types of the document.
package typescript

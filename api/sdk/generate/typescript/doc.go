// Package typescript writes the generated files of the TypeScript client: the types of requests and responses, where in them
// the amounts are, and the operations of each kind of caller as methods of a class.
//
// Invariants:
//  1. A caller's class has exactly the operations that its credential may call and that answer JSON or CSV.
//  2. The files of one caller import nothing of another's, so that a partner's client loads no type of the operator's.
//  3. A value in minor units is a bigint, and the shape of its type lists it; everything else is as JSON has it.
//
// Callers: command generate.
//
// Rejected: openapi-typescript, which makes types only: amounts would be texts, and every call would be written with the path
// and the nested types of the document.
package typescript

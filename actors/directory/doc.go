// Package directory makes the directory's decisions durable and answers who is
// who, without a store read, for every request.
//
// One actor an organization, and one for the platform, decides and commits. What
// is durable is then published to a view in memory; after that comes the reply.
// A record sits in a cell: the view's maps only ever grow, a change swaps one
// pointer, and readers take no lock.
//
// Invariants:
//  1. The view shows nothing that is not durable, and whoever got an answer
//     sees it in the view: a revoked key is refused from then on.
//  2. Only an organization's actor writes its part of the view. If it panics,
//     its part is read from the store again before the next decision.
//  3. Authentication takes the same steps whether the organization, the key or
//     its partner exist, and whether they are in force.
//  4. A partner number is durable before it is used and is given out once. One
//     may be lost in a crash.
//  5. A password is hashed on its request's own goroutine, a bounded number at
//     a time, and never by an actor.
//  6. Values of keys and tokens leave in the answer that made them and are
//     nowhere else, but for a key's value in the sealed answer of a write that
//     came with an Idempotency-Key.
//  7. A write with an Idempotency-Key claims it in its own Change, first of all
//     claims and in the platform's name space, and keeps its answer there too:
//     sealed, in a record of its own directly behind the event that it tells of.
//     That event's booked time is the only thing in an answer that is not known
//     before the writer has ordered it.
//
// Callers: api (requests), actors/payment through an interface (partners,
// terminals and rates), cmd/mizan (tokens at start, the sandbox).
//
// Rejected: publishing a new snapshot of the organization with each change. With
// 100,000 keys one revocation would copy them all. Also rejected: reading a key
// from the store at each request, which costs more than the rest of the request.
// Also rejected: answering a repeated write from the records as they stand. They
// may have changed since, and a key's value is in none.
package directory

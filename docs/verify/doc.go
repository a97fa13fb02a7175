// Command verify checks a file that `mizan audit prove` wrote (the proof that an event is in the ledger). It is for people
// who trust neither Mizan's server nor Mizan's code. They can read main.go in a minute, because it is a single short file,
// and can copy and build it elsewhere.
//
// Invariants:
//  1. The command uses no code of this project. Its only dependency is golang.org/x/mod, on which Go's own checksum database
//     is built.
//  2. The command reports an event as proven only if two checks succeed. The key must have signed the head, which
//     states the size and the root of the Merkle tree of events. The event's canonical bytes must lead to this root.
//
// Callers: auditors, and a test with the proofs of a real server.
//
// Rejected: another design would also decode the canonical bytes. It was not chosen because docs/audit.md describes
// their form, and because a partial decoder would be trusted only partially.
package main

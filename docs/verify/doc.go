// Command verify checks a file that `mizan audit prove` wrote (the proof that an event is in the ledger). It is for people
// who trust neither Mizan's server nor Mizan's code. They can read main.go, a single short file, in a minute, and can copy it
// and build it elsewhere.
//
// Invariants:
//  1. The command uses no code of this project. Its only dependency is golang.org/x/mod, on which Go's own checksum database
//     is built.
//  2. The command reports an event as proven only if two checks succeed. First, the key must have signed the head, which states
//     the size and the root of the Merkle tree of events. Second, the inclusion proof must lead from the event's canonical
//     bytes to this root.
//
// Callers: auditors, and a test with proofs from a real server.
//
// Rejected: Decoding the canonical bytes in this command was considered. It was not chosen because docs/audit.md describes
// their form, and because nobody could fully trust a decoder that reads only a part of them.
package main

// Command verify checks a file that `mizan audit prove` wrote, as main.go describes. It is for
// people who trust neither Mizan's server nor Mizan's code: main.go is a single file that can
// be read in a minute, copied and built elsewhere.
//
// Invariants:
//  1. It uses no code of this project, and of other projects only golang.org/x/mod, on which
//     Go's own checksum database is built.
//  2. It reports an event as proven only if the key has signed the head, which has the size and
//     the root of a Merkle tree of events, and the event's canonical bytes lead to that root.
//
// Callers: auditors. Its test runs it on the proofs of a real server.
//
// Rejected: decoding the canonical bytes here. docs/audit.md describes their form; a partial
// decoder would be trusted only partially.
package main

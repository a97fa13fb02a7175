// Command verify checks a file that `mizan audit prove` wrote, as main.go says. It
// is for people who trust neither Mizan's server nor Mizan's code: main.go is a
// file of its own that can be read in a minute, copied and built elsewhere.
//
// Invariants:
//  1. It has no code of this project, and of others only golang.org/x/mod, which
//     Go's own checksum database runs on.
//  2. It prints that an event is proven only if the key has signed the head and the
//     event's canonical bytes lead to the head's root.
//
// Callers: auditors. Its test runs it on the proofs of a real server.
//
// Rejected: decoding the canonical bytes here. docs/audit.md has their form; half
// a decoder would be half believed.
package main

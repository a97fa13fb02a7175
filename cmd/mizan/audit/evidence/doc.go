// Package evidence is an auditor's evidence: signed heads, files that prove an event,
// and the state of a watch. It checks them with a key and needs neither a server nor
// a store.
//
// Invariants:
//  1. Only the key is trusted. A head is valid when the key has signed exactly its
//     bytes and it names its organization; an event is proven when its canonical bytes
//     hash up to a head's root. Everything shown is decoded from those bytes.
//  2. A proof's file has one form. A check encodes the proven content again and
//     compares: a file with one other byte, also in its readable part, is refused.
//  3. A watch moves only from a head to one that is proven to extend it. A refused head
//     leaves its state unchanged.
//  4. No input makes it panic, because the auditor does not trust the source of files
//     and answers. Each input has a bound on its size.
//
// Callers: cmd/mizan/audit (prove, check and watch). The verifier in docs/verify checks
// the same files with no code of this package, so that neither vouches for itself.
//
// Rejected: a binary form, which people can't read, and a readable part that is not
// checked, which people would still trust.
package evidence

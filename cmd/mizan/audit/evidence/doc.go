// Package evidence reads, writes and checks what an auditor keeps to prove that a journal was not rewritten.
// These are heads (signed statements of how many events a journal has, with the root hash of the tree over
// them), files that prove an event, and the state of a watch, which remembers the last head. Checks need a key,
// but neither a server nor a store.
//
// Invariants:
//  1. Only the key is trusted. A head is valid if the key has signed exactly its bytes and the head names its
//     organization. An event is proven if the hash of its canonical bytes (the encoding that the journal
//     hashes), combined with the hashes in the proof, gives a head's root hash. Everything shown is decoded
//     from those bytes.
//  2. The file of a proof has exactly one valid form. A check encodes the proven content again and compares the
//     bytes. A file that differs in any byte, including its readable part, is refused.
//  3. A watch replaces its head only with a head that is proven to extend it. To extend a head means to begin
//     with the same events. A refused head leaves the watch unchanged.
//  4. No input causes a panic, because the auditor does not trust the source of files and responses. Each input
//     has a bound on its size.
//
// Callers: cmd/mizan/audit (prove, check and watch). The verifier in docs/verify checks the same files without
// code of this package, so that the two are independent.
//
// Rejected: A binary form of the files was considered; it was not chosen because people cannot read it. A
// readable part that is not checked was not chosen because people would trust it all the same.
package evidence

// Package evidence reads, writes and checks the evidence with which an auditor can prove that a journal was not rewritten.
// There are three kinds. A head is a signed statement of how many events a journal has, and of the root hash of the tree over
// these events. A proof file proves that an event is in the journal. The state of a watch contains the last head that the watch
// has accepted. A check needs a key, but neither a server nor a store.
//
// Invariants:
//  1. Only the key is trusted. A head is valid if it names its organization and exactly its bytes are signed with the key. An
//     event is proven if the hash of its canonical bytes (the encoding that the journal hashes), combined with the hashes in
//     the proof, gives the head's root hash. Everything that is shown about an event is decoded from its canonical bytes.
//  2. For each proof there is exactly one valid file. A check encodes the proven content again and compares the bytes with the
//     file. If any byte differs, even in the readable part, the file is refused.
//  3. A watch replaces its head only with a later head that is proven to extend it: the later journal must begin with all
//     events of the earlier journal. If a head is refused, the watch does not change.
//  4. No input causes a panic, because files and responses come from sources that the auditor does not trust. The size of each
//     input is bounded.
//
// Callers: cmd/mizan/audit (prove, check and watch). The verifier in docs/verify checks the same files without using this
// package, so the two checks are independent.
//
// Rejected: A binary file format was not chosen because people cannot read it. A readable part that is not checked was not
// chosen because people would trust it nevertheless.
package evidence

// Package evidence is what an auditor holds in hand: signed heads, files that
// prove an event, and the state of a watch. It checks them with a key and needs
// neither a server nor a store.
//
// Invariants:
//  1. Nothing is believed but the key. A head counts when the key has signed
//     exactly its bytes and it names its organization; an event counts when its
//     canonical bytes lead to a head's root; what is shown is decoded from those
//     bytes.
//  2. A proof's file has one form. Checking it writes it again from what was
//     proven and compares: a file with one other byte, in its readable part too,
//     is refused.
//  3. A watch moves only from a head to one that is proven to extend it. What it
//     refuses leaves its state as it was.
//  4. No input makes it panic: files and answers come from whom the auditor does
//     not trust. Each has a bound on its size.
//
// Callers: cmd/mizan (audit prove, check and watch). The verifier in docs/verify
// does the same to a proof's file with no code of this one: neither vouches for
// itself.
//
// Rejected: a binary form, which nobody can read, and a readable part that is not
// checked, which people would read all the same.
package evidence

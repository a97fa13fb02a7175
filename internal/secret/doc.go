// Package secret keeps what must not be seen: cards in memory, the keyring on
// disk, tokens and the text that they travel in.
//
// Invariants:
//  1. Card, Text and Keyring show as Redacted through fmt, slog and encoders of
//     text and JSON. fmt cannot call a method on an unexported field, so a
//     struct that holds one of them unexported and is printed whole needs a
//     LogValue or Format of its own.
//  2. The keyring file is readable by its owner only, at every moment of its
//     life; one that others can read is refused, because it may have been read.
//  3. The keyring is replaced as a whole or not at all, and creating one never
//     overwrites another: a lost signing key ends the chain of signed heads, a
//     lost fingerprint key makes every stored card fingerprint useless.
//  4. Fields of the keyring that this version does not know survive a rewrite.
//  5. Tokens are stored only as their SHA-256. They carry 256 random bits, so a
//     slow password hash would cost time and add nothing.
//
// Callers: api and api/auth (tokens), actors (cards, fingerprints),
// actors/provider (cards), cmd/mizan (the keyring).
//
// Rejected: rename as the last step of creation, as the rewrite does it. Two
// starts at once would each believe that their key is the one on disk; a hard
// link is atomic too and fails when the name exists.
package secret

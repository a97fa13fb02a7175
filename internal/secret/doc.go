// Package secret keeps what must not be seen: cards in memory and sealed, the
// keyring on disk, tokens and the text that they travel in.
//
// Invariants:
//  1. Card, Text, Keyring and PageTokens show as Redacted through fmt, slog and
//     encoders of text and JSON. fmt cannot call a method on an unexported field,
//     so a struct that holds one of them unexported and is printed whole needs a
//     LogValue or Format of its own. No error quotes a key, a plaintext or what a
//     file holds.
//  2. The keyring file is readable by its owner only, at every moment of its
//     life; one that others can read is refused, because it may have been read.
//  3. The keyring is replaced as a whole or not at all, and creating one never
//     overwrites another: a lost signing key ends the chain of signed heads, a
//     lost fingerprint key makes every stored card fingerprint useless, a lost
//     sealing key what it sealed.
//  4. Fields of the keyring that this version does not know survive a rewrite.
//  5. A rewrite changes what is on disk at that moment, while no other rewrite
//     can: rotations and starts that meet lose no key. There is no way to write
//     a loaded keyring back.
//  6. A sealing key that was in force once goes on opening. Nothing is sealed by
//     a key that is not durable.
//  7. What is sealed opens in its own place only. A sealed card has no CVV, and
//     its plaintext is wiped when it is sealed and when it was read.
//  8. Tokens are stored only as their SHA-256. They carry 256 random bits, so a
//     slow password hash would cost time and add nothing. Page tokens are not
//     stored at all.
//
// Callers: api and api/auth (tokens), actors (cards, fingerprints),
// actors/provider (cards), cmd/mizan (the keyring), and whoever keeps a card for
// a later step or serves a page to a payer.
//
// Rejected: a key of its own in the keyring for page tokens, rotated as the
// sealing keys are. Such a token ends by itself within its time; a rotation would
// only close the pages that payers stand before, and a keyring without the key
// would have to be completed first. Derived from the fingerprint key, which never
// changes, it is there in every keyring.
//
// Rejected: removing sealing keys. A few hundred bytes are saved, and a record
// that waits for a payer, or that a backup brings back, could not be opened.
package secret

// Package secret holds what must not be seen: cards in memory and sealed, the keyring
// on disk, tokens, and the text in which tokens travel.
//
// Invariants:
//  1. Card, Text, Keyring and PageTokens print as Redacted through fmt, slog and
//     encoders of text and JSON. fmt cannot call a method on an unexported field, so a
//     struct that holds one of them unexported and is printed whole needs a LogValue
//     or Format of its own. No error quotes a key, a plaintext or a file's content.
//  2. Only its owner can ever read the keyring file. A file that others can read is
//     refused, because it may have been read.
//  3. The keyring is replaced as a whole or not at all, and creating one never
//     overwrites another: a lost signing key ends the chain of signed heads, a lost
//     fingerprint key makes every stored card fingerprint useless, and what a lost
//     sealing key sealed can't be opened.
//  4. Fields of the keyring that this version does not know survive a rewrite.
//  5. A rewrite locks the file and changes its current content, so concurrent
//     rotations and starts lose no key. A loaded keyring can't be written back.
//  6. A sealing key that was once in force keeps opening what it sealed. Only durable
//     keys seal.
//  7. A ciphertext is bound to its record and field. A sealed card has no CVV; its
//     plaintext is wiped after sealing and after reading.
//  8. Tokens are stored as their SHA-256 only. They have 256 random bits, so a slow
//     password hash would cost time and add nothing. Page tokens are not stored.
//
// Callers: api and api/auth (tokens), actors (cards, fingerprints), actors/provider
// (cards), cmd/mizan (the keyring).
//
// Rejected: a key of its own for page tokens, rotated like sealing keys. Such a token
// expires by itself; a rotation would only close open pages. The key is derived from
// the fingerprint key, which never changes and is in every keyring.
//
// Rejected: removing sealing keys. That saves a few hundred bytes, and a record that
// waits for a payer, or that a backup restores, could not be opened.
package secret

// Package secret holds the secrets: cards in memory and sealed, the keyring on disk, tokens,
// and the type for texts that are secret.
//
// Invariants:
//  1. Card, Text, Keyring and PageTokens print as Redacted through fmt, slog and encoders of
//     text and JSON. fmt can't call a method on an unexported field, so a struct that has one
//     of them in such a field, and is printed as a whole, needs its own LogValue or Format. No error quotes a key,
//     a plaintext or a file's content.
//  2. Only its owner can ever read the keyring file. A file that others can read is refused,
//     because they may have read it.
//  3. The keyring is replaced as a whole or not at all, and creating one never overwrites
//     another. A lost signing key ends the chain of signed heads (a head is the ledger's
//     signed hash, which auditors check), a lost fingerprint key makes
//     every stored card fingerprint useless, and data sealed with a lost sealing key can't be
//     opened.
//  4. A rewrite keeps fields of the keyring that this version does not know.
//  5. A rewrite locks the file and changes its current content, so that concurrent rotations
//     and starts lose no key. A loaded keyring can't be written back.
//  6. Each sealing key, replaced or not, opens what it has sealed. A key is in the file, durably,
//     before it seals anything.
//  7. A ciphertext is bound to its record and field. A sealed card has no CVV; its plaintext is
//     wiped after sealing and after reading.
//  8. Only the SHA-256 of a token is stored. A token has 256 random bits, so a slow password
//     hash would cost time and add nothing. Page tokens are not stored.
//
// Callers: api and api/auth (tokens), actors (cards, fingerprints), actors/provider (cards),
// cmd/mizan (the keyring).
//
// Rejected: a separate key for page tokens, rotated like sealing keys. Such a token expires
// anyway; a rotation would only close open pages. The key is derived from the fingerprint key,
// which never changes and is in every keyring. Rejected: removing sealing keys. It would save a
// few hundred bytes, and a record that waits for a payer, or comes from a backup, could not be
// opened.
package secret

// Package secret has types for everything that only the service may know: cards (in memory and encrypted), the keyring (the
// file with the service's keys), tokens, and other secret texts.
//
// Invariants:
//  1. Card, Text, Keyring and PageTokens print as Redacted ("[redacted]") through fmt, slog and encoders of text and JSON.
//     But fmt cannot call a method on an unexported field. So a struct with one of these types in an unexported field needs
//     its own LogValue or Format if it may be printed. No error quotes a key, a plaintext or a file's content.
//  2. Only the owner of the keyring file can ever read it. A keyring file that other users can read is refused, because they
//     may have read it already.
//  3. The keyring file is replaced as a whole or not at all, and the creation of a keyring never overwrites an existing file.
//     A lost key cannot be replaced. Without the signing key, the chain of signed heads ends (a head is the ledger's signed
//     hash, which auditors check). Without the fingerprint key, all stored card fingerprints are useless. Without a sealing
//     key, the data that it has sealed (encrypted) cannot be opened.
//  4. A rewrite of the file keeps fields that this version of the program does not know.
//  5. A rewrite locks the file and changes its current content, so that no key is lost if servers start and keys are rotated
//     at the same time. A Keyring in memory cannot be written back.
//  6. A sealing key that was replaced still opens what it has sealed. A key is durable in the file before it seals anything.
//  7. A ciphertext can be opened only for the record and field for which it was sealed. A sealed card has no CVV. The card's
//     plaintext is wiped after sealing and after reading.
//  8. Only the SHA-256 of a token is stored. A slow password hash would cost time and add nothing, because a
//     token has 256 random bits. Page tokens (which open a payer's page) are not stored.
//
// Callers: api and api/auth (tokens); actors (cards, fingerprints); actors/provider (cards); cmd/mizan
// (keyring).
//
// Rejected: A separate key for page tokens, rotated like sealing keys, was considered; it was not chosen because page tokens
// expire anyway, so a rotation would only make open pages unusable. The key of page tokens is derived from the fingerprint
// key, which never changes and is in every keyring. Removing sealing keys was not chosen because it would save only a few
// hundred bytes, and sealed data in older records and in backups could not be opened any more.
package secret

// Package secret has types for everything that only the service may know: cards (in memory and encrypted), the keyring (the
// file with the service's keys), tokens, and other secret texts.
//
// Invariants:
//  1. Card, Text, Keyring and PageTokens print as Redacted ("[redacted]") through fmt, slog and encoders of text and JSON.
//     But fmt cannot call a method on an unexported field. So a struct with one of these types in an unexported field needs
//     its own LogValue or Format if it may be printed. No error quotes a key, a plaintext or a file's content.
//  2. Only the owner of the keyring file may read it. If other users can read the file, it is refused, because they may know
//     the keys already.
//  3. The keyring file is replaced as a whole or not at all, and the creation of a keyring never overwrites an existing file. A
//     lost key cannot be replaced. If the signing key is lost, the chain of signed heads ends. (A head is a hash of the ledger,
//     and auditors check its signature.) If the fingerprint key is lost, all stored card fingerprints are useless. If a sealing
//     key is lost, the data that was sealed (encrypted) with this key cannot be opened.
//  4. A rewrite of the file keeps fields that this version of the program does not know.
//  5. A rewrite locks the file and changes its current content, so that no key is lost if servers start and keys are rotated at
//     the same time. A loaded Keyring is never written back to the file.
//  6. After a sealing key was replaced, data that was sealed with the old key can still be opened. A new key is stored durably
//     before it seals anything.
//  7. A ciphertext can be opened only for the record and field for which it was sealed. The CVV of a card is never sealed. The
//     plaintext of a card is wiped after it was sealed or opened.
//  8. Only the SHA-256 of a token is stored. A slow password hash would cost time and add nothing, because a
//     token has 256 random bits. Page tokens (which open a payer's page) are not stored.
//
// Callers: api and api/auth (tokens); actors (cards, fingerprints); actors/provider (cards); cmd/mizan
// (keyring).
//
// Rejected: Page tokens could have a separate key that is rotated like sealing keys. But page tokens expire anyway, so a
// rotation would only make open pages unusable. Instead, the key of page tokens is derived from the fingerprint key, which
// never changes and is in every keyring. Old sealing keys could be removed. But this would save only a few hundred bytes per
// key, and sealed data in older records and in backups could no longer be opened.
package secret

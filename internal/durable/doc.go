// Package durable puts whole files in their places, so that neither a kill nor
// a power cut leaves half of one.
//
// Invariants:
//  1. A name has the content that it had, or all of the new one, at every
//     moment; when Create or Replace returns nil, the new one survives a power
//     cut.
//  2. Create never overwrites, whoever else creates the file at that moment.
//  3. The content is never open to more people than its mode says, and Replace
//     leaves a file to the owner that it had: an administrator who rewrites a
//     server's file must not lock the server out of it.
//  4. What a kill leaves behind has a name of its own kind, and RemoveLeftovers
//     deletes nothing but that.
//
// Callers: internal/secret (the keyring), cmd/mizan (clock, sandbox.json, TLS, what an
// auditor keeps), snapshots (backups and restored directories).
//
// Rejected: rename as the last step of Create, as Replace does it. Two starts
// at once would each believe that their file is the one on disk; a hard link is
// atomic too and fails when the name exists.
package durable

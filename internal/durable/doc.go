// Package durable writes whole files, so that neither a kill nor a power cut leaves half a
// file. For files that grow it has the sync of their content (SyncData).
//
// Invariants:
//  1. At every moment a name has either its old content or all of the new content. When Create
//     or Replace returns nil, the new content survives a power cut.
//  2. Create never overwrites a file, even if another process creates it at that moment.
//  3. The content is never readable for more users than its mode allows. Replace keeps the
//     file's owner: an operator who rewrites a server's file must not lock the server out
//     of it.
//  4. Temporary files have names with a form of their own, and RemoveLeftovers deletes only
//     such files.
//
// Callers: internal/secret (the keyring), posting/store (the files beside Badger and its list of
// tables), internal/disk and the simulator's log (SyncData), cmd/mizan (clock, sandbox.json, TLS, an auditor's files), snapshots (backups and
// restored directories).
//
// Rejected: rename as the last step of Create, as in Replace. Two concurrent starts would each
// assume that their file is on disk; a hard link is atomic too and fails if the name exists.
package durable
